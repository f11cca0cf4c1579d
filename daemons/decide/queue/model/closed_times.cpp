#include "daemons/decide/queue/model/closed_times.h"
#include <algorithm>

namespace decide::queue {

Seconds total(Periods periods) {
    std::ranges::sort(periods, {}, &Period::from);
    Seconds sum = 0, counted = 0;
    for (const auto& each : periods) {
        const auto from = std::max(each.from, counted);
        if (each.to <= from) continue;
        sum += each.to - from;
        counted = each.to;
    }
    return sum;
}

void ClosedTimes::set(bool closed, Seconds now) {
    if (closed == this->closed()) return;
    if (!closed && now > since_) {
        if (past_.size() == most) past_.erase(past_.begin());
        past_.push_back({since_, now});
    }
    since_ = closed ? now : 0;
}

void ClosedTimes::collect(Seconds from, Seconds to, Periods& out) const {
    const auto add = [&](Period each) {
        each.from = std::max(each.from, from);
        each.to = std::min(each.to, to);
        if (each.from < each.to) out.push_back(each);
    };
    for (const auto& each : past_) add(each);
    if (since_ != 0) add({since_, to});
}

} // namespace decide::queue
