#include "libspool/message/schedule.h"
#include <algorithm>
#include <chrono>

namespace spool {

smtp::WallTime schedule_end(const MessageState& message) {
    return message.free_from.value_or(message.envelope.not_before.value_or(smtp::WallTime{}));
}

std::optional<smtp::WallTime> expiry_from(const MessageState& message, smtp::WallTime start) {
    using std::chrono::ceil, std::chrono::seconds;
    const seconds span(message.lifetime);
    const auto begins = std::max(message.envelope.arrival, schedule_end(message));
    if (!message.expiry || *message.expiry != ceil<seconds>(begins + span)) return {};
    return ceil<seconds>(start + span);
}

} // namespace spool
