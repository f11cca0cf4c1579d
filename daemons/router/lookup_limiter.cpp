#include "daemons/router/lookup_limiter.h"
#include "daemons/common/runtime/loop.h"
#include <algorithm>

namespace router {

Places::Number Places::take() {
    taken_.emplace(++last_, false);
    candidates_.emplace_back(last_, common::Loop::now().monotonic);
    if (!timer_.armed()) timer_.start(limits_.slow_after);
    return last_;
}

void Places::leave(Number number) {
    const auto found = taken_.find(number);
    if (found == taken_.end()) return;
    slow_ -= found->second ? 1 : 0;
    taken_.erase(found);
    while (!candidates_.empty() && !taken_.contains(candidates_.front().first)) candidates_.pop_front();
}

void Places::leave_all() {
    taken_.clear();
    candidates_.clear();
    slow_ = 0;
}

void Places::look() {
    const auto now = common::Loop::now().monotonic;
    const auto before = slow_;
    while (!candidates_.empty() && slow_ < limits_.most_slow) {
        const auto [number, since] = candidates_.front();
        if (now - since < limits_.slow_after) break;
        if (const auto found = taken_.find(number); found != taken_.end()) {
            found->second = true;
            ++slow_;
        }
        candidates_.pop_front();
    }
    if (!candidates_.empty())
        timer_.start(std::max<smtp::Duration>(candidates_.front().second + limits_.slow_after - now, std::chrono::milliseconds(10)));
    if (slow_ > before) room_();
}

} // namespace router
