#include "daemons/fleet/redis/availability.h"
#include <algorithm>
#include <utility>

namespace fleet::redis {

Availability::Change Availability::failed(smtp::Now now, std::string why) {
    reason_ = std::move(why);
    if (++failures_ < most_failures && state_ != State::away) {
        next_ = now.monotonic + between_failures;
        return Change::none;
    }
    pause_ = state_ == State::away ? std::min(pause_ * 2, longest_pause) : first_pause;
    next_ = now.monotonic + pause_;
    if (state_ == State::away) return Change::none;
    state_ = State::away;
    away_reason_ = reason_;
    since_ = now;
    return Change::went_away;
}

Availability::Change Availability::worked(smtp::Now now) {
    failures_ = 0;
    if (state_ == State::present) return Change::none;
    const auto former = std::exchange(state_, State::present);
    since_ = now;
    return former == State::away ? Change::came_back : Change::came;
}

} // namespace fleet::redis
