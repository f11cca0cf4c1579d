// A message that failed for some recipients, sent once more: the envelope of the new message. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/format/envelope.h"
#include "libspool/format/queue_id.h"
#include "libspool/message/message_state.h"
#include <string>
#include <vector>

namespace spool {

struct Resend {
    Envelope envelope;                   // no recipients: it failed and expired for none
    std::vector<std::string> suppressed; // recipients left out because they would be refused again
};

// To the recipients for which it failed or expired, under their present addresses, with their DSN parameters. `id`
// becomes its parent. It has the time of a new message: what the old message had of schedule, expiry, hold and reroute
// is not part of it, nor is its idempotency key.
Resend resend_of(const MessageState& state, QueueId id, smtp::WallTime now);
// To this address instead, as if it had been submitted so.
Envelope resend_to(const MessageState& state, QueueId id, smtp::WallTime now, std::string address);

} // namespace spool
