#include "daemons/master/children/orderly_stop.h"
#include <algorithm>
#include <utility>

namespace master {

OrderlyStop::OrderlyStop(common::Loop& loop, common::Log& log, ChildGroup& children, Callbacks callbacks)
    : log_(log), children_(children), callbacks_(std::move(callbacks)), bound_(loop, [this] { phase_timed_out(); }) {}

void OrderlyStop::begin(smtp::Duration limit) {
    limit_ = limit;
    phase_ = 0;
    begin_phase();
    child_ended(); // there may be none
}

void OrderlyStop::begin_phase() {
    const smtp::Duration within = phase_ == 1 ? limit_ / 2 : limit_ / 4;
    for (const auto& child : children_.all())
        if (child->plan().stop_phase == phase_) {
            if (child->alive()) callbacks_.stopping(*child);
            child->stop(within);
        }
    bound_.start(within + grace);
}

void OrderlyStop::child_ended() {
    const auto done = [&] {
        return std::ranges::none_of(
            children_.all(), [&](const auto& child) { return child->plan().stop_phase <= phase_ && child->alive(); });
    };
    while (done()) {
        if (++phase_ == common::stop_phases) {
            bound_.stop();
            return callbacks_.stopped();
        }
        begin_phase();
    }
}

void OrderlyStop::phase_timed_out() {
    for (const auto& child : children_.all())
        if (child->plan().stop_phase <= phase_ && child->alive()) {
            log_.warning("{} (pid {}) has not stopped in time: killed", child->name(), child->pid());
            child->kill();
        }
}

} // namespace master
