#include "daemons/smtpd/access/client_limits.h"
#include <doctest/doctest.h>

using smtpd::Visitors;
using Entry = Visitors::Entry;
using namespace std::chrono_literals;

TEST_CASE("sessions of one network are bounded, others are not its victims") {
    Visitors visitors;
    smtp::Monotonic now{1h};
    const Visitors::Limits limits{2, 0};
    CHECK(visitors.arrived("a", limits, now) == Entry::welcome);
    CHECK(visitors.arrived("a", limits, now) == Entry::welcome);
    CHECK(visitors.arrived("a", limits, now) == Entry::too_many_sessions);
    CHECK(visitors.arrived("b", limits, now) == Entry::welcome);
    visitors.left("a");
    CHECK(visitors.arrived("a", limits, now) == Entry::welcome);
    visitors.left("nobody");
}

TEST_CASE("new connections are counted by the minute") {
    Visitors visitors;
    smtp::Monotonic now{1h};
    const Visitors::Limits limits{0, 3};
    for (int i = 0; i < 3; ++i) {
        CHECK(visitors.arrived("a", limits, now) == Entry::welcome);
        visitors.left("a");
    }
    CHECK(visitors.arrived("a", limits, now + 59s) == Entry::too_many_connections);
    CHECK(visitors.arrived("a", limits, now + 60s) == Entry::welcome);
}

TEST_CASE("who has gone is forgotten") {
    Visitors visitors;
    smtp::Monotonic now{1h};
    for (int i = 0; i < 1000; ++i) {
        CHECK(visitors.arrived(std::to_string(i), {1, 0}, now) == Entry::welcome);
        if (i != 7) visitors.left(std::to_string(i));
    }
    CHECK(visitors.arrived("x", {1, 0}, now + 2min) == Entry::welcome);
    CHECK(visitors.networks() == 2);
}
