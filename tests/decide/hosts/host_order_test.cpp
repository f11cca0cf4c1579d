// The order of hosts: MX preference with chance among equals, SRV priority and weight.
#include "daemons/decide/hosts/host_order.h"
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <set>

using namespace decide;

namespace {
Chance from(std::mt19937& random) {
    return [&random](std::uint32_t most) { return std::uniform_int_distribution<std::uint32_t>(0, most)(random); };
}
} // namespace

TEST_CASE("tiers, then preference; equals in every order") {
    const std::vector<Rank> ranks{
        {Tier::fallback, 0, 0}, {Tier::first, 20, 0}, {Tier::first, 10, 0}, {Tier::second, 0, 0}, {Tier::first, 10, 0}};
    std::set<std::vector<std::size_t>> seen;
    std::mt19937 random(1);
    for (int i = 0; i < 100; ++i) seen.insert(host_order(ranks, from(random)));
    CHECK(seen == std::set<std::vector<std::size_t>>{{2, 4, 1, 3, 0}, {4, 2, 1, 3, 0}});
    CHECK(host_order({}, from(random)).empty());
}

TEST_CASE("equals without weights have equal shares, whatever their places") {
    std::mt19937 random(2);
    std::map<std::size_t, int> first;
    for (int i = 0; i < 30'000; ++i) ++first[host_order({{}, {}, {}}, from(random)).front()];
    for (const auto place : {0u, 1u, 2u}) CHECK(first[place] == doctest::Approx(10'000).epsilon(0.05));
}

TEST_CASE("weights are shares; one of 0 has a small chance beside others") {
    std::mt19937 random(3);
    std::map<std::size_t, int> first;
    const std::vector<Rank> ranks{
        {Tier::first, 0, 10}, {Tier::first, 0, 0}, {Tier::first, 0, 60}, {Tier::first, 0, 30}};
    for (int i = 0; i < 101'000; ++i) {
        const auto order = host_order(ranks, from(random));
        CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == 4);
        ++first[order.front()];
    }
    CHECK(first[1] == doctest::Approx(1'000).epsilon(0.15));
    CHECK(first[0] == doctest::Approx(10'000).epsilon(0.05));
    CHECK(first[2] == doctest::Approx(60'000).epsilon(0.05));
    CHECK(first[3] == doctest::Approx(30'000).epsilon(0.05));
}

TEST_CASE("RFC 2782 by numbers handed in: weight 0 first, then by the running sum") {
    const auto draws = [](std::vector<std::uint32_t> numbers) {
        return [numbers = std::move(numbers), at = std::size_t{0}](std::uint32_t most) mutable {
            const auto number = at < numbers.size() ? numbers[at++] : 0;
            CHECK(number <= most);
            return number;
        };
    };
    const std::vector<Rank> ranks{{Tier::first, 5, 1}, {Tier::first, 5, 0}, {Tier::first, 5, 2}};
    // The first two put every host in its own place again; then 0…3, 0…2 or …1, and the last.
    CHECK(host_order(ranks, draws({2, 1, 0, 0, 0})) == std::vector<std::size_t>{1, 0, 2});
    CHECK(host_order(ranks, draws({2, 1, 1, 1, 0})) == std::vector<std::size_t>{0, 2, 1});
    CHECK(host_order(ranks, draws({2, 1, 3, 1, 0})) == std::vector<std::size_t>{2, 0, 1});
}
