#include "daemons/decide/queue/ladder.h"
#include <algorithm>
#include <cmath>

namespace decide::queue {

smtp::Duration rung(const Settings& settings, std::uint32_t failures) {
    if (failures < settings.glitch_count) return settings.glitch_interval;
    if (failures < settings.glitch_count + settings.retry_count) return settings.retry_interval;
    return settings.retry_interval_after;
}

smtp::Duration jittered(const Settings& settings, smtp::Duration wait, Random& random) {
    if (settings.jitter <= 0) return wait;
    const double extra = static_cast<double>(wait.count()) * settings.jitter * random.fraction();
    return wait + smtp::Duration(std::llround(extra));
}

smtp::Duration doubling(smtp::Duration first, smtp::Duration most, std::uint32_t failures) {
    smtp::Duration wait = first;
    for (std::uint32_t n = 1; n < failures && wait < most; ++n) wait *= 2;
    return std::min(wait, std::max(first, most));
}

} // namespace decide::queue
