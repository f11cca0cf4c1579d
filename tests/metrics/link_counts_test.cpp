// Names for the busiest links, and sums that never go down.
#include "daemons/metrics/link_counts.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <random>

using namespace std::chrono_literals;
using metrics::Attempts;
using metrics::LinkCounts;

static const smtp::Monotonic zero{};

TEST_CASE("as long as there is room everybody has a name") {
    LinkCounts counts;
    counts.limit(2, zero);
    counts.add({{"a", {1, 2, 3}}, {"b", {4, 0, 0}}, {"", {7, 0, 0}}}, zero);
    counts.add({{"a", {1, 0, 0}}}, zero + 1min);
    CHECK(counts.named() == std::map<std::string, Attempts>{{"a", {2, 2, 3}}, {"b", {4, 0, 0}}});
    CHECK(counts.others() == Attempts{7, 0, 0});
}

TEST_CASE("names go to the busiest of an interval, the rest is counted together") {
    LinkCounts counts;
    counts.limit(2, zero);
    counts.add({{"little", {1, 0, 0}}, {"much", {100, 0, 0}}, {"more", {0, 50, 0}}}, zero);
    CHECK(counts.named().size() == 2);
    CHECK(counts.named().contains("much"));
    CHECK(counts.named().contains("more"));
    CHECK(counts.others() == Attempts{1, 0, 0});
}

TEST_CASE("a name is kept while its link is alive, and lost to a much busier one when it has gone quiet") {
    LinkCounts counts;
    counts.limit(1, zero);
    counts.add({{"old", {100, 0, 0}}}, zero);
    counts.add({{"new", {150, 0, 0}}}, zero + 1s); // livelier, but not twice so
    CHECK(counts.named().contains("old"));
    CHECK(counts.others() == Attempts{150, 0, 0});
    counts.add({{"new", {150, 0, 0}}}, zero + 2 * LinkCounts::half_life);
    REQUIRE(counts.named().contains("new"));
    CHECK(counts.named().at("new") == Attempts{150, 0, 0}); // what it had before stays with the others
    CHECK(counts.others() == Attempts{150, 0, 0});
    counts.limit(0, zero + 1h);
    CHECK(counts.named().empty());
    counts.add({{"new", {1, 0, 0}}}, zero + 1h);
    CHECK(counts.others() == Attempts{151, 0, 0});
}

TEST_CASE("ten thousand links: never more names than there may be, no sum ever falls") {
    LinkCounts counts;
    counts.limit(20, zero);
    std::mt19937 random(7);
    std::map<std::string, Attempts> before;
    Attempts others{};
    for (int round = 0; round < 500; ++round) {
        std::vector<LinkCounts::NewAttempts> fresh;
        for (int i = 0; i < 50; ++i)
            fresh.push_back({fmt::format("link{}", random() % 10'000), {random() % 100, random() % 3, random() % 2}});
        counts.add(fresh, zero + round * 15s);
        REQUIRE(counts.named().size() <= 20);
        for (const auto& [link, n] : counts.named())
            if (const auto former = before.find(link); former != before.end())
                for (std::size_t i = 0; i < n.size(); ++i) REQUIRE(n[i] >= former->second[i]);
        for (std::size_t i = 0; i < others.size(); ++i) REQUIRE(counts.others()[i] >= others[i]);
        before = counts.named();
        others = counts.others();
    }
}
