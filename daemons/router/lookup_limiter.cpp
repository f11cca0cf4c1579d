#include "daemons/router/lookup_limiter.h"
#include "daemons/common/runtime/loop.h"
#include <algorithm>

namespace router {

LookupLimiter::Ticket LookupLimiter::acquire() {
    active_.emplace(++last_, false);
    candidates_.emplace_back(last_, common::Loop::now().monotonic);
    if (!timer_.armed()) timer_.start(limits_.slow_after);
    return last_;
}

void LookupLimiter::release(Ticket ticket) {
    const auto found = active_.find(ticket);
    if (found == active_.end()) return;
    slow_ -= found->second ? 1 : 0;
    active_.erase(found);
    while (!candidates_.empty() && !active_.contains(candidates_.front().first)) candidates_.pop_front();
}

void LookupLimiter::release_all() {
    active_.clear();
    candidates_.clear();
    slow_ = 0;
}

void LookupLimiter::find_slow() {
    const auto now = common::Loop::now().monotonic;
    const auto before = slow_;
    while (!candidates_.empty() && slow_ < limits_.max_slow) {
        const auto [ticket, since] = candidates_.front();
        if (now - since < limits_.slow_after) break;
        if (const auto found = active_.find(ticket); found != active_.end()) {
            found->second = true;
            ++slow_;
        }
        candidates_.pop_front();
    }
    if (!candidates_.empty())
        timer_.start(std::max<smtp::Duration>(candidates_.front().second + limits_.slow_after - now,
                                              std::chrono::milliseconds(10)));
    if (slow_ > before) on_free_();
}

} // namespace router
