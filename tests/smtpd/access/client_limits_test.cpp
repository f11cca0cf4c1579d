#include "daemons/smtpd/access/client_limits.h"
#include <doctest/doctest.h>

using smtpd::ClientLimits;
using Admission = ClientLimits::Admission;
using namespace std::chrono_literals;

TEST_CASE("sessions of one network are bounded, others are not its victims") {
    ClientLimits client_limits;
    smtp::Monotonic now{1h};
    const ClientLimits::Limits limits{2, 0};
    CHECK(client_limits.admit("a", limits, now) == Admission::admitted);
    CHECK(client_limits.admit("a", limits, now) == Admission::admitted);
    CHECK(client_limits.admit("a", limits, now) == Admission::too_many_sessions);
    CHECK(client_limits.admit("b", limits, now) == Admission::admitted);
    client_limits.release("a");
    CHECK(client_limits.admit("a", limits, now) == Admission::admitted);
    client_limits.release("nobody");
}

TEST_CASE("new connections are counted by the minute") {
    ClientLimits client_limits;
    smtp::Monotonic now{1h};
    const ClientLimits::Limits limits{0, 3};
    for (int i = 0; i < 3; ++i) {
        CHECK(client_limits.admit("a", limits, now) == Admission::admitted);
        client_limits.release("a");
    }
    CHECK(client_limits.admit("a", limits, now + 59s) == Admission::too_many_connections);
    CHECK(client_limits.admit("a", limits, now + 60s) == Admission::admitted);
}

TEST_CASE("who has gone is forgotten") {
    ClientLimits client_limits;
    smtp::Monotonic now{1h};
    for (int i = 0; i < 1000; ++i) {
        CHECK(client_limits.admit(std::to_string(i), {1, 0}, now) == Admission::admitted);
        if (i != 7) client_limits.release(std::to_string(i));
    }
    CHECK(client_limits.admit("x", {1, 0}, now + 2min) == Admission::admitted);
    CHECK(client_limits.networks() == 2);
}
