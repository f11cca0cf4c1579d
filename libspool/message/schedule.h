// When a message may be sent, and what counts from then. Pure.
#pragma once
#include "libspool/message/message_state.h"
#include <optional>

namespace spool {

// By its sender or an operator; 1970: it has no schedule.
smtp::WallTime schedule_end(const MessageState& message);

// Its expiry if it is sent at `start`; nothing: as before. The expiry is a point in time, but the sender has asked for
// a span from when the message may be sent: the envelope's lifetime is that span.
std::optional<smtp::WallTime> expiry_from(const MessageState& message, smtp::WallTime start);

} // namespace spool
