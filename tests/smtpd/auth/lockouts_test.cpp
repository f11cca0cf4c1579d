#include "daemons/smtpd/auth/lockouts.h"
#include <doctest/doctest.h>

using smtpd::Lockouts;
using namespace std::chrono_literals;

static constexpr Lockouts::Limits limits{3, 7, 10min};
static const smtp::Monotonic now{1h};

TEST_CASE("one user's wrong passwords lock out one user, there") {
    Lockouts lockouts;
    for (int n = 0; n < 3; ++n) {
        CHECK_FALSE(lockouts.user_locked_for("net", "Ann", limits, now));
        CHECK(lockouts.record_failure("net", "Ann", limits, now).user == (n == 2));
    }
    CHECK(lockouts.user_locked_for("net", "ann", limits, now + 4min) == 6min);
    CHECK_FALSE(lockouts.user_locked_for("net", "bob", limits, now));
    CHECK_FALSE(lockouts.user_locked_for("other", "ann", limits, now));
    for (int n = 0; n < 100; ++n)
        CHECK_FALSE(lockouts.record_failure("net", "ann", limits, now).network); // not counted
    CHECK_FALSE(lockouts.network_locked_for("net", limits, now));
    CHECK_FALSE(lockouts.user_locked_for("net", "ann", limits, now + 10min));
}

TEST_CASE("a right password clears what its user did wrong, and nothing else") {
    Lockouts lockouts;
    for (int n = 0; n < 2; ++n) lockouts.record_failure("net", "ann", limits, now);
    for (int n = 0; n < 2; ++n) lockouts.record_failure("net", "bob", limits, now);
    lockouts.record_success("net", "ann");
    lockouts.record_success("net", "nobody");
    CHECK_FALSE(lockouts.record_failure("net", "ann", limits, now).user);
    CHECK(lockouts.record_failure("net", "bob", limits, now).user);
    for (int n = 0; n < 3; ++n)
        CHECK(lockouts.record_failure("net", std::to_string(n), limits, now).network == (n == 2));
    CHECK(lockouts.network_locked_for("net", limits, now));
}

TEST_CASE("many names from one network lock it out, unless it is shared") {
    Lockouts lockouts;
    for (int n = 0; n < 7; ++n) lockouts.record_failure("net", std::to_string(n), limits, now);
    CHECK(lockouts.network_locked_for("net", limits, now + 1min) == 9min);
    auto shared = limits;
    shared.per_network = 0;
    CHECK_FALSE(lockouts.network_locked_for("net", shared, now));
    lockouts.clear();
    CHECK_FALSE(lockouts.network_locked_for("net", limits, now));
}

TEST_CASE("what is remembered is bounded") {
    Lockouts lockouts;
    for (std::size_t n = 0; n < Lockouts::max_entries + 1000; ++n)
        lockouts.record_failure("net", std::to_string(n), limits, now);
    CHECK(lockouts.network_locked_for("net", limits, now));
    for (std::size_t n = 0; n < Lockouts::max_entries + 1000; ++n)
        lockouts.record_failure(std::to_string(n), "", limits, now);
    for (int n = 0; n < 3; ++n) lockouts.record_failure("late", "ann", limits, now + 30min); // room again
    CHECK(lockouts.user_locked_for("late", "ann", limits, now + 30min));
}
