#include "daemons/smtpd/auth/concurrency_limiter.h"
#include <doctest/doctest.h>
#include <string>

using smtpd::ConcurrencyLimiter;

TEST_CASE("so many inside, so many waiting in order, the rest turned away") {
    ConcurrencyLimiter limiter;
    std::string went;
    ConcurrencyLimiter::Ticket tickets[5] = {};
    const auto enter = [&](std::size_t i) {
        return limiter.acquire({2, 2}, tickets[i], [&went, i] { went += std::to_string(i); });
    };
    for (std::size_t i = 0; i < 4; ++i) CHECK(enter(i));
    CHECK(went == "01");
    CHECK_FALSE(enter(4));
    CHECK(tickets[4] == 0);
    limiter.release(tickets[1]);
    CHECK(went == "012");
    CHECK(enter(4));
    limiter.release(tickets[3]); // who waited no longer wants to
    limiter.release(tickets[3]);
    limiter.release(tickets[0]);
    CHECK(went == "0124");
    limiter.release(tickets[2]);
    limiter.release(tickets[4]);
    CHECK(limiter.active() == 0);
    CHECK(limiter.waiting() == 0);
}

TEST_CASE("who leaves as it goes lets the next go") {
    ConcurrencyLimiter limiter;
    std::string went;
    ConcurrencyLimiter::Ticket first = 0, second = 0, third = 0;
    CHECK(limiter.acquire({1, 9}, first, [&] { went += "1"; }));
    CHECK(limiter.acquire({1, 9}, second, [&] {
        went += "2";
        limiter.release(second);
    }));
    CHECK(limiter.acquire({1, 9}, third, [&] { went += "3"; }));
    limiter.release(first);
    CHECK(went == "123");
}
