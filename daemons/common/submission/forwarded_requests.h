// What the sender of a message asked for, as the header fields that ask for it (sender_requests.h), for mail that
// leaves this system and comes back to it: from a content filter. The inverse of reading them. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/format/envelope.h"
#include <string>

namespace common {

// With their line ends; "" none. Not the schedule, which is over when a message is passed on, nor the idempotency key,
// of which it would be a duplicate. Times that have passed by `now` are left out.
std::string fields_of_requests(const spool::Envelope& envelope, smtp::WallTime now);

} // namespace common
