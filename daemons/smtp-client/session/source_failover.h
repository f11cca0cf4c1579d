// What a server's words about the address a connection comes from lead to: that address rests, and another of the pool
// is chosen where one is left. Knows the replies and the addresses; neither connects nor reports.
#pragma once
#include "daemons/smtp-client/connect/source_addresses.h"
#include "daemons/smtp-client/session/delivery_job.h"
#include "libsmtp/session/client_session.h"
#include <optional>
#include <string>

namespace smtp_client {

// The pool's address that mail would go from now, where it came from another. Not without a pool.
std::string next_source(SourceAddresses& sources);

struct SourceRefusal {
    std::string source, why;                                    // the address, and the server's verdict
    std::string text;                                           // for the log
    enum class Next : std::uint8_t { nothing, try_again } next; // try_again: from the address that was chosen
};
// If a verdict on a delivery blames the current address. A recipient that has the message already does not get it
// again: then the blaming verdicts become deferrals, and the others are tried later.
std::optional<SourceRefusal> source_refusal(SourceAddresses& sources, const DeliveryJob& job,
                                            smtp::TransactionResult& result);

bool delivered_to_all(const smtp::TransactionResult& result);

} // namespace smtp_client
