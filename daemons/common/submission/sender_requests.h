// What the sender of a message asks of this system beside its delivery: when it is sent, when it is given up, its lane
// and its retry policy, and what of its own the journal is to say of it. Asked for in header fields that are taken out
// of the message, or by options of sendmail, which stand for the same fields. Pure.
#pragma once
#include "daemons/common/submission/control_fields.h"
#include "daemons/decide/queue/settings.h"
#include "libsmtp/message/control_fields.h"
#include "libspool/format/envelope.h"
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace common {

// A message is scheduled this far ahead at most, and given up this late after it could first be sent.
inline constexpr std::chrono::seconds longest_schedule = std::chrono::days(90);
// X-Postrider-Meta- fields of a message, and the bytes of their names and values together.
inline constexpr std::size_t most_meta_fields = 10, most_meta_bytes = 1024, longest_meta_name = 64;

struct SenderRequestRules {
    SenderRequestRules() = default;
    explicit SenderRequestRules(const std::vector<decide::queue::RetryPolicy>& named);
    std::optional<std::vector<std::string>> policies; // their names; nothing: not known, every name passes
};

// The header field, with its line end, that asks for the same as the option `name` of sendmail -O with that value; ""
// if no option of ours has that name.
std::string request_field(std::string_view name, std::string_view value);

// Of a message that arrived at envelope.arrival. Sets not_before, expiry, lane, retry_policy and meta of the envelope;
// returns what is wrong, "" nothing. A stranger's wishes count for nothing.
std::string apply_sender_requests(const SenderRequestRules& rules, Submitter submitter,
                                  const smtp::ControlFields& asked, spool::Envelope& envelope);

// The requests as they were written, for the comparison of messages with the same idempotency key.
std::string text_of_sender_requests(const smtp::ControlFields& asked);

} // namespace common
