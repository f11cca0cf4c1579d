// What goes along with a message to a content filter, and comes back with it, in header fields: where it came from, and
// what its sender asked for (sender_requests.h). All of these fields are taken out of what strangers send. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/format/envelope.h"
#include <string>
#include <string_view>

namespace common {

// With their line ends. `lane`: the one it has now. Not the schedule, which is over when a message is passed on, nor
// the idempotency key, of which it would be a duplicate. Times that have passed by `now` are left out.
std::string fields_of_requests(const spool::Envelope& envelope, std::string_view lane, smtp::WallTime now);

// The value of X-Postrider-Source: "listener=smtp submitter=net:192.0.2.0/24%20example.org address=192.0.2.7".
std::string source_text(const spool::Envelope& envelope);
// Puts that into the envelope of the message that came back. False: it cannot be read, and the envelope is unchanged.
bool restore_source(std::string_view text, spool::Envelope& envelope);

} // namespace common
