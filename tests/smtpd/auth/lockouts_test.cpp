#include "daemons/smtpd/auth/lockouts.h"
#include <doctest/doctest.h>

using smtpd::Lockouts;
using namespace std::chrono_literals;

static constexpr Lockouts::Limits limits{3, 7, 10min};
static const smtp::Monotonic now{1h};

TEST_CASE("one user's wrong passwords lock out one user, there") {
    Lockouts lockouts;
    for (int n = 0; n < 3; ++n) {
        CHECK_FALSE(lockouts.of_user("net", "Ann", limits, now));
        CHECK(lockouts.failed("net", "Ann", limits, now).user == (n == 2));
    }
    CHECK(lockouts.of_user("net", "ann", limits, now + 4min) == 6min);
    CHECK_FALSE(lockouts.of_user("net", "bob", limits, now));
    CHECK_FALSE(lockouts.of_user("other", "ann", limits, now));
    for (int n = 0; n < 100; ++n) CHECK_FALSE(lockouts.failed("net", "ann", limits, now).network); // not counted
    CHECK_FALSE(lockouts.of_network("net", limits, now));
    CHECK_FALSE(lockouts.of_user("net", "ann", limits, now + 10min));
}

TEST_CASE("a right password clears what its user did wrong, and nothing else") {
    Lockouts lockouts;
    for (int n = 0; n < 2; ++n) lockouts.failed("net", "ann", limits, now);
    for (int n = 0; n < 2; ++n) lockouts.failed("net", "bob", limits, now);
    lockouts.succeeded("net", "ann");
    lockouts.succeeded("net", "nobody");
    CHECK_FALSE(lockouts.failed("net", "ann", limits, now).user);
    CHECK(lockouts.failed("net", "bob", limits, now).user);
    for (int n = 0; n < 3; ++n) CHECK(lockouts.failed("net", std::to_string(n), limits, now).network == (n == 2));
    CHECK(lockouts.of_network("net", limits, now));
}

TEST_CASE("many names from one network lock it out, unless it is shared") {
    Lockouts lockouts;
    for (int n = 0; n < 7; ++n) lockouts.failed("net", std::to_string(n), limits, now);
    CHECK(lockouts.of_network("net", limits, now + 1min) == 9min);
    auto shared = limits;
    shared.per_network = 0;
    CHECK_FALSE(lockouts.of_network("net", shared, now));
    lockouts.lift_all();
    CHECK_FALSE(lockouts.of_network("net", limits, now));
}

TEST_CASE("what is remembered is bounded") {
    Lockouts lockouts;
    for (std::size_t n = 0; n < Lockouts::most + 1000; ++n) lockouts.failed("net", std::to_string(n), limits, now);
    CHECK(lockouts.of_network("net", limits, now));
    for (std::size_t n = 0; n < Lockouts::most + 1000; ++n) lockouts.failed(std::to_string(n), "", limits, now);
    for (int n = 0; n < 3; ++n) lockouts.failed("late", "ann", limits, now + 30min); // room again
    CHECK(lockouts.of_user("late", "ann", limits, now + 30min));
}
