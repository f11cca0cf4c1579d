#include "daemons/smtpd/access/door_events.h"
#include <numeric>
#include <string>

namespace smtpd {

using namespace std::chrono_literals;

bool DoorEvents::admitted(Kind kind, smtp::Monotonic now) {
    if (per_second_ == 0) return false;
    if (now - second_ >= 1s) {
        second_ = now;
        this_second_ = 0;
    }
    if (this_second_ < per_second_) {
        ++this_second_;
        return true;
    }
    ++left_out(kind);
    tell_later();
    return false;
}

void DoorEvents::tell(Event event) {
    event.sampled = left_out(event.kind);
    if (queue_manager_.tell(proto::submission::bounded(std::move(event)))) {
        left_out(event.kind) = 0;
        return;
    }
    ++lost_;
    tell_later();
}

// Those that no event of their kind has followed.
void DoorEvents::tell_of_the_rest() {
    const auto sampled = std::accumulate(left_out_.begin(), left_out_.end(), std::uint64_t{0});
    if (sampled == 0 && lost_ == 0) return;
    if (!queue_manager_.tell(proto::submission::DoorEventsLost{sampled, lost_})) return tell_later();
    left_out_.fill(0);
    lost_ = 0;
}

void DoorEvents::tell_later() {
    if (!timer_.armed()) timer_.start(quiet);
}

} // namespace smtpd
