#include "daemons/simulate/model/traffic.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <vector>

using namespace std::chrono_literals;
using namespace postrider::simulate;

namespace {

std::vector<smtp::Duration> all(const Traffic& traffic) {
    decide::queue::Random random(1);
    Arrivals arrivals(traffic, random);
    std::vector<smtp::Duration> out;
    while (const auto at = arrivals.next()) out.push_back(*at);
    CHECK(arrivals.count() == out.size());
    CHECK(std::ranges::is_sorted(out));
    return out;
}

auto within(const std::vector<smtp::Duration>& times, smtp::Duration from, smtp::Duration until) {
    return std::ranges::count_if(times, [&](auto at) { return at >= from && at < until; });
}

} // namespace

TEST_CASE("listed traffic comes when it is said to, as long as there is time") {
    Traffic traffic;
    traffic.profile = Profile::listed;
    traffic.arrivals = {0s, 5s, 5s, 1h, 2h};
    traffic.until = 2h;
    CHECK(all(traffic) == std::vector<smtp::Duration>{0s, 5s, 5s, 1h});
}

TEST_CASE("steady traffic comes evenly, but for some chance") {
    Traffic traffic;
    traffic.messages = 600;
    traffic.from = 1h;
    traffic.until = 11h;
    const auto times = all(traffic);
    CHECK(times.front() == 1h);
    CHECK(times.size() > 5800);
    CHECK(times.size() < 6200);
    for (auto hour = 1h; hour < 11h; hour += 1h) {
        CHECK(within(times, hour, hour + 1h) > 550);
        CHECK(within(times, hour, hour + 1h) < 650);
    }
}

TEST_CASE("a burst comes at once, and again") {
    Traffic traffic;
    traffic.profile = Profile::burst;
    traffic.messages = 50;
    traffic.from = 1h;
    traffic.until = 4h;
    CHECK(all(traffic) == std::vector<smtp::Duration>(50, 1h));
    traffic.every = 1h;
    const auto times = all(traffic);
    CHECK(times.size() == 150);
    CHECK(within(times, 2h, 2h + 1us) == 50);
}

TEST_CASE("a day has its peak, and little at night") {
    Traffic traffic;
    traffic.profile = Profile::daily;
    traffic.messages = 1000;
    traffic.peak = 14h;
    traffic.until = 48h;
    const auto times = all(traffic);
    CHECK(times.size() > 46'000);
    CHECK(times.size() < 50'000);
    CHECK(within(times, 13h + 30min, 14h + 30min) > 1800);
    CHECK(within(times, 1h + 30min, 2h + 30min) < 150);
    CHECK(within(times, 37h + 30min, 38h + 30min) > 1800);
}
