// For how long a recipient has waited, as its message's file has it: for its schedule, a hold, its retries; and what
// earlier attempts say of pauses and links. Pure.
#pragma once
#include "libspool/delivery/waited.h"
#include "libspool/message/message_state.h"

namespace spool {

// `until`: when it was free to be tried, or now. `arrived`: when the message was accepted.
Waited waited_until(const MessageState& message, const RecipientState& recipient, smtp::WallTime arrived,
                    smtp::WallTime until);

// Of a wait for the next try that ends then, or is interrupted. In milliseconds.
std::uint64_t retry_wait(const MessageState& message, const RecipientState& recipient, smtp::WallTime until);
// Of a hold that ends then.
std::uint64_t hold_time(const MessageState& message, smtp::WallTime until);

} // namespace spool
