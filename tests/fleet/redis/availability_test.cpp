// When the store is used, by a clock that is moved by hand.
#include "daemons/fleet/redis/availability.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using fleet::redis::Availability;
using Change = Availability::Change;
using State = Availability::State;

TEST_CASE("three failures, then pauses that double up to a minute; one success ends it") {
    smtp::Now now{smtp::Monotonic(100s), smtp::WallTime(1000s)};
    Availability store;
    CHECK(store.state() == State::starting);
    CHECK(store.worked(now) == Change::came);
    CHECK(store.worked(now) == Change::none);
    CHECK(store.failed(now, "one") == Change::none);
    CHECK(store.failed(now, "two") == Change::none);
    CHECK(store.worked(now) == Change::none); // in a row
    CHECK(store.failed(now, "one") == Change::none);
    CHECK(store.next_attempt() == now.monotonic + 500ms);
    CHECK(store.failed(now, "two") == Change::none);
    CHECK(store.state() == State::present);
    now.monotonic += 1s;
    CHECK(store.failed(now, "three") == Change::went_away);
    CHECK(store.away());
    CHECK(store.since().monotonic == now.monotonic);
    CHECK(store.reason() == "three");
    CHECK(store.away_reason() == "three");
    CHECK(store.next_attempt() == now.monotonic + 5s);
    for (const auto pause : {10s, 20s, 40s, 60s, 60s}) {
        now.monotonic = store.next_attempt();
        CHECK(store.failed(now, "again") == Change::none); // each change is reported once
        CHECK(store.next_attempt() == now.monotonic + pause);
    }
    CHECK(store.reason() == "again");
    CHECK(store.away_reason() == "three"); // of this outage
    CHECK(store.worked(now) == Change::came_back);
    CHECK(store.state() == State::present);
    for (int n = 0; n < 2; ++n) CHECK(store.failed(now, "x") == Change::none);
    CHECK(store.failed(now, "x") == Change::went_away);
    CHECK(store.next_attempt() == now.monotonic + 5s); // the pauses begin again
}
