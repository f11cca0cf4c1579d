#include "libspool/message/waiting_time.h"
#include "libspool/message/schedule.h"
#include <algorithm>
#include <chrono>
#include <limits>

namespace spool {

namespace {

std::uint64_t milliseconds_between(smtp::WallTime from, smtp::WallTime to) {
    if (to <= from) return 0;
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count());
}

std::uint32_t seconds(std::uint64_t milliseconds) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(milliseconds / 1000, std::numeric_limits<std::uint32_t>::max()));
}

} // namespace

std::uint64_t retry_wait(const MessageState& message, const RecipientState& recipient, smtp::WallTime until) {
    if (recipient.last_attempt == smtp::WallTime{} || message.held) return 0;
    return milliseconds_between(std::max(recipient.last_attempt, message.released),
                                std::min(until, recipient.next_attempt));
}

std::uint64_t hold_time(const MessageState& message, smtp::WallTime until) {
    if (!message.held || message.held_since == smtp::WallTime{}) return 0;
    return milliseconds_between(std::max(message.held_since, schedule_end(message)), until);
}

Waited waited_until(const MessageState& message, const RecipientState& recipient, smtp::WallTime arrived,
                    smtp::WallTime until) {
    Waited out{.pause = recipient.waited_pause, .link = recipient.waited_link};
    out.schedule = seconds(milliseconds_between(arrived, std::min(until, schedule_end(message))));
    out.hold = seconds(message.held_for + hold_time(message, until));
    out.retry = seconds(recipient.waited_retry + retry_wait(message, recipient, until));
    return out;
}

} // namespace spool
