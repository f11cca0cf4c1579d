#include "daemons/simulate/model/traffic.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

namespace postrider::simulate {

using namespace std::chrono_literals;

// On average, at this time of the day.
smtp::Duration Arrivals::gap() const {
    double an_hour = traffic_.messages;
    if (traffic_.profile == Profile::daily) {
        using Days = std::chrono::duration<double, std::ratio<86'400>>;
        constexpr double swing = 0.9; // at night a tenth of the average is left
        an_hour *= 1 + swing * std::cos(2 * std::numbers::pi * Days(at_ - traffic_.peak).count());
    }
    constexpr double hour = std::chrono::duration<double, std::micro>(1h).count();
    return smtp::Duration(std::llround(hour / an_hour));
}

std::optional<smtp::Duration> Arrivals::next() {
    if (traffic_.profile == Profile::listed) {
        if (count_ == traffic_.arrivals.size() || traffic_.arrivals[count_] >= traffic_.until) return {};
        return traffic_.arrivals[count_++];
    }
    if (count_ > 0 && traffic_.profile != Profile::burst) {
        const auto usual = static_cast<double>(gap().count());
        at_ += std::max(smtp::Duration(1), smtp::Duration(std::llround(usual * (0.5 + random_.fraction()))));
    } else if (of_burst_ == traffic_.messages) {
        if (traffic_.every == 0s) return {};
        at_ += traffic_.every;
        of_burst_ = 0;
    }
    if (at_ >= traffic_.until) return {};
    ++count_;
    ++of_burst_;
    return at_;
}

} // namespace postrider::simulate
