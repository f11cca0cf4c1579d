#include "daemons/decide/outcome/source_backoff.h"
#include "daemons/decide/outcome/source_choice.h"
#include <array>
#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace decide;
using namespace std::chrono_literals;

namespace {

std::vector<int> draws(std::span<const SourceOption> options, int n, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::vector<int> count(options.size());
    for (int i = 0; i < n; ++i)
        if (const auto place = choose_source(options, random())) ++count.at(*place);
    return count;
}

smtp::Now at(std::chrono::seconds t) { return {smtp::Monotonic(t), smtp::WallTime(std::chrono::hours(1) + t)}; }

} // namespace

TEST_CASE("weights hold over thousands of draws") {
    const std::array<SourceOption, 3> options{{{1}, {2}, {7}}};
    const auto count = draws(options, 100'000);
    CHECK(count[0] > 9'500);
    CHECK(count[0] < 10'500);
    CHECK(count[1] > 19'500);
    CHECK(count[1] < 20'500);
    CHECK(count[0] + count[1] + count[2] == 100'000);
}

TEST_CASE("the same number gives the same one, and every number gives one") {
    const std::array<SourceOption, 3> options{{{1}, {2}, {1}}};
    constexpr std::size_t expected[] = {0, 1, 1, 2};
    for (std::uint64_t chance = 0; chance < 4000; ++chance)
        CHECK(choose_source(options, chance) == expected[chance % 4]);
}

TEST_CASE("who rests is the last choice; who was refused, or does not fit, is none") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 5'000; ++round) {
        std::vector<SourceOption> options(random() % 6);
        for (auto& each : options)
            each = {static_cast<std::uint32_t>(1 + random() % 1000), static_cast<SourceState>(random() % 4)};
        const auto any = [&](SourceState state) {
            for (const auto& each : options)
                if (each.state == state) return true;
            return false;
        };
        const auto chosen = choose_source(options, random());
        CHECK(chosen.has_value() == (any(SourceState::ready) || any(SourceState::backing_off)));
        if (chosen)
            CHECK(options[*chosen].state == (any(SourceState::ready) ? SourceState::ready : SourceState::backing_off));
    }
}

TEST_CASE("others share what a resting one would have had, by their weights") {
    const std::array<SourceOption, 3> options{{{1000, SourceState::backing_off}, {1}, {3}}};
    const auto count = draws(options, 40'000);
    CHECK(count[0] == 0);
    CHECK(count[1] > 9'500);
    CHECK(count[1] < 10'500);
}

TEST_CASE("a rest is of one address for one link, and ends by time or by success") {
    SourceBackoff resting;
    CHECK(resting.begin("a@bulk", "192.0.2.2", 60s, "554 no", at(0s)));
    CHECK(resting.begin("a@bulk", "192.0.2.1", 3600s, "554 never", at(0s)));
    CHECK(resting.begin("b@bulk", "192.0.2.1", 60s, "421 no", at(0s)));
    const auto of_a = resting.of("a@bulk", at(10s));
    REQUIRE(of_a.size() == 2);
    CHECK(of_a[0].source == "192.0.2.1");
    CHECK(of_a[0].why == "554 never");
    CHECK(of_a[0].until == at(3600s).wall);
    CHECK(resting.of("a", at(10s)).empty());
    CHECK(resting.of("a@bulk", at(60s)).size() == 1);
    CHECK(resting.of("b@bulk", at(59s)).size() == 1);
    CHECK_FALSE(resting.begin("b@bulk", "192.0.2.1", 60s, "421 no", at(59s))); // it rests on
    CHECK(resting.of("b@bulk", at(100s)).size() == 1);
    CHECK(resting.begin("b@bulk", "192.0.2.1", 60s, "421 no", at(200s))); // anew
    CHECK(resting.end("a@bulk", "192.0.2.1", SourceBackoff::Of::connections));
    CHECK_FALSE(resting.end("a@bulk", "192.0.2.1", SourceBackoff::Of::connections));
    CHECK(resting.of("a@bulk", at(10s)).size() == 1);
}

TEST_CASE("what rests is bounded: those that would be back first are forgotten") {
    SourceBackoff resting;
    for (std::size_t n = 0; n < SourceBackoff::max_entries + 100; ++n)
        resting.begin("link" + std::to_string(n), "192.0.2.1", std::chrono::seconds(1000 + n), "", at(0s));
    CHECK(resting.size() == SourceBackoff::max_entries);
    CHECK(resting.of("link0", at(0s)).empty());
    CHECK(resting.of("link10099", at(0s)).size() == 1);
    resting.begin("new", "192.0.2.1", 10s, "", at(100'000s)); // all others' time is over
    CHECK(resting.size() == 1);
}

TEST_CASE("an address whose mail was refused rests until mail is taken from it, not a connection") {
    using Of = SourceBackoff::Of;
    SourceBackoff resting;
    resting.begin("a@bulk", "192.0.2.1", 3600s, "550 listed", at(0s), Of::mail);
    CHECK_FALSE(resting.end("a@bulk", "192.0.2.1", Of::connections));
    CHECK(resting.of("a@bulk", at(10s)).size() == 1);
    CHECK(resting.end("a@bulk", "192.0.2.1", Of::mail));
    CHECK(resting.of("a@bulk", at(10s)).empty());
    resting.begin("a@bulk", "192.0.2.1", 3600s, "554 no", at(0s), Of::connections);
    CHECK(resting.end("a@bulk", "192.0.2.1", Of::mail));
}
