#include "libsmtp/session/server_deadline.h"
#include <algorithm>
#include <chrono>

namespace smtp {

Monotonic InputDeadline::due(const ServerSettings& settings, bool measured) const {
    return measured && settings.min_data_rate != 0 ? std::min(deadline_, window_end_) : deadline_;
}

bool InputDeadline::late(const ServerSettings& settings, Monotonic now) {
    if (now >= deadline_) return true;
    // Only the window is over: was it enough?
    using Seconds = std::chrono::duration<double>;
    const auto asked = static_cast<double>(settings.min_data_rate) * Seconds(settings.rate_window).count();
    const bool enough = static_cast<double>(window_bytes_) >= asked;
    begin_window(settings, now);
    return !enough;
}

} // namespace smtp
