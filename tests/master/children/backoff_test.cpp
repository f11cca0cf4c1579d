#include "daemons/master/children/backoff.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;

TEST_CASE("the first deaths cost little, further ones more and more, good service forgives") {
    master::Backoff backoff;
    const auto died = [&](smtp::Duration served) { return backoff.died(served, 100ms, 30s); };
    for (int i = 0; i < 3; ++i) CHECK(died(0s) == 100ms);
    CHECK(died(1s) == 200ms);
    CHECK(died(0s) == 400ms);
    for (int i = 0; i < 100; ++i) CHECK(died(0s) <= 30s);
    CHECK(died(0s) == 30s);
    CHECK(died(2s) == 100ms);
    CHECK(backoff.in_a_row() == 1);
}
