// By how many nodes rates are divided, and who may still divide them, by a clock that is moved by hand.
#include "daemons/fleet/rates/node_count.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace fleet;

namespace {

std::vector<NodeCount::Seen> seen(std::vector<NodeCount::Seen> all) {
    for (auto& each : all) each.silent = !each.stopped && each.age > 15s;
    return all;
}

} // namespace

TEST_CASE("nodes that are present count, silent and stopped ones do not") {
    NodeCount count;
    CHECK(count.nodes(0) == 0); // not known
    CHECK(count.nodes(3) == 3);
    const smtp::Monotonic now(1000s);
    count.heard(seen({{"mx1", 0s}, {"mx2", 4s}, {"mx3", 20s}, {"mx4", 1s, true}}), now);
    CHECK(count.nodes(3) == 2);
    CHECK(count.missing(now) == 0);
}

TEST_CASE("after the store came back those who were there are missing until they are heard, or for 90 s") {
    NodeCount count;
    smtp::Monotonic now(1000s);
    count.heard(seen({{"mx1", 0s}, {"mx2", 4s}, {"mx3", 2s}, {"mx4", 1s}}), now);
    now += 300s;
    CHECK(count.nodes(0) == 4); // while it is away
    count.store_back("mx1", now);
    CHECK(count.nodes(0) == 4);
    CHECK(count.missing(now) == 3);
    now += 1s;
    count.heard(seen({{"mx1", 0s}, {"mx2", 304s}, {"mx4", 2s}}), now); // mx4: from before
    CHECK(count.nodes(0) == 4);
    CHECK(count.missing(now) == 3);
    now += 10s;
    count.heard(seen({{"mx1", 0s}, {"mx2", 3s}, {"mx4", 1s, true}}), now);
    CHECK(count.nodes(0) == 3);
    CHECK(count.missing(now) == 1);
    now += 80s;
    CHECK(count.missing(now) == 0);
    count.heard(seen({{"mx1", 0s}, {"mx2", 3s}, {"mx3", 400s}}), now);
    CHECK(count.nodes(0) == 2);
}

TEST_CASE("a node that falls silent while the store is present is not waited for") {
    NodeCount count;
    smtp::Monotonic now(1000s);
    count.heard(seen({{"mx1", 0s}, {"mx2", 4s}}), now);
    now += 20s;
    count.heard(seen({{"mx1", 0s}, {"mx2", 24s}}), now);
    CHECK(count.nodes(0) == 1);
    CHECK(count.missing(now) == 0);
}

TEST_CASE("a list that was emptied: the nodes are still there, unless nothing is heard of them for 15 s") {
    NodeCount count;
    smtp::Monotonic now(1000s);
    count.heard(seen({{"mx1", 0s}, {"mx2", 4s}, {"mx3", 2s}}), now);
    now += 1s;
    count.heard(seen({{"mx1", 0s}}), now);
    CHECK(count.nodes(0) == 3);
    now += 3s;
    count.heard(seen({{"mx1", 0s}, {"mx2", 1s}}), now);
    CHECK(count.nodes(0) == 3);
    now += 12s;
    count.heard(seen({{"mx1", 0s}, {"mx2", 1s}}), now);
    CHECK(count.nodes(0) == 2);
}

TEST_CASE("the store is back and empty: those that were there before are not forgotten by the first list") {
    NodeCount count;
    smtp::Monotonic now(1000s);
    count.heard(seen({{"mx1", 0s}, {"mx2", 4s}, {"mx3", 2s}}), now);
    now += 1h;
    count.store_back("mx1", now);
    count.heard(seen({{"mx1", 0s}}), now);
    CHECK(count.nodes(0) == 3);
    CHECK(count.missing(now) == 2);
}
