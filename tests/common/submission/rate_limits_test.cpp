#include "daemons/common/submission/rate_limits.h"
#include <doctest/doctest.h>

using namespace common;
using namespace std::chrono_literals;

TEST_CASE("so many in a while, then evenly") {
    RateLimiter rates;
    smtp::Monotonic now{1h};
    for (int i = 0; i < 6; ++i) CHECK(rates.take("a", 6, 1min, now));
    CHECK_FALSE(rates.take("a", 6, 1min, now));
    CHECK(rates.take("b", 6, 1min, now)); // others are not concerned
    CHECK_FALSE(rates.take("a", 6, 1min, now + 9s));
    CHECK(rates.take("a", 6, 1min, now + 10s));
    CHECK_FALSE(rates.take("a", 6, 1min, now + 11s));
    now += 10min;
    for (int i = 0; i < 6; ++i) CHECK(rates.take("a", 6, 1min, now));
    CHECK_FALSE(rates.take("a", 6, 1min, now));
}

TEST_CASE("several at once, and more than there may be") {
    RateLimiter rates;
    const smtp::Monotonic now{1h};
    CHECK(rates.take("a", 100, 1h, now, 60));
    CHECK_FALSE(rates.take("a", 100, 1h, now, 60));
    CHECK(rates.take("a", 100, 1h, now, 40));
    CHECK(rates.take("b", 100, 1h, now, 5000)); // else it could never go
    CHECK_FALSE(rates.take("b", 100, 1h, now, 1));
    CHECK(rates.take("c", 2'000'000'000, 1h, now, 2'000'000'000)); // no overflow
}

TEST_CASE("no limit, no memory") {
    RateLimiter rates;
    for (int i = 0; i < 1000; ++i) CHECK(rates.take("a", 0, 1min, smtp::Monotonic{1h}));
    CHECK(rates.size() == 0);
}

TEST_CASE("who has been quiet is forgotten") {
    RateLimiter rates;
    smtp::Monotonic now{1h};
    for (int i = 0; i < 1000; ++i) rates.take(std::to_string(i), 10, 1min, now);
    CHECK(rates.size() == 1000);
    rates.take("x", 10, 1min, now + 2min);
    CHECK(rates.size() == 1);
}
