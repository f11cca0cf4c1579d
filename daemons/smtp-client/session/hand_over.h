// From a delivery to the session of a host: what is checked before the server hears of it, and its content when the
// server wants it. Functions over the delivery and the session; what follows when a delivery cannot go there is decided
// by the caller.
#pragma once
#include "daemons/smtp-client/connect/source_addresses.h"
#include "daemons/smtp-client/session/delivery_job.h"
#include "daemons/smtp-client/session/host_session.h"
#include <functional>
#include <optional>
#include <string>

namespace smtp_client {

struct HandOver {
    enum class Result : std::uint8_t {
        handed_over,
        refused,             // for `error`
        not_now,             // the session is not what its mail needs
        not_yet,             // the content is still prepared: once more, in a further turn of the loop
        waits,               // for an answer of a table: once more when `wake` has been called
        deferred,            // for the reason in `text`; the session has not heard of it
        requirement_missing, // `text`: the host does not do what the message requires
        other_source,        // it goes from another address of the pool, which is preferred now
    };
    Result result = Result::handed_over;
    std::string text = {};
    std::optional<spool::ReadError> error = {};
};

inline DeliveryJob::Reach reach_of(const Candidate& host) {
    return host.local() ? DeliveryJob::Reach::local : DeliveryJob::Reach::abroad;
}

// The session is up and takes a delivery. `wake` must work as long as the job lives.
HandOver hand_over(ClientContext& context, DeliveryJob& job, HostSession& host, SourceAddresses& sources,
                   const std::function<void()>& wake);

// The next piece of the content, or its end, with the final dot. A message that cannot be read ends the conversation.
void send_content(DeliveryJob& job, HostSession& host, DeliveryJob::From from);

} // namespace smtp_client
