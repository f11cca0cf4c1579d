#include "daemons/smtpd/auth/concurrency_limiter.h"
#include <doctest/doctest.h>
#include <string>

using smtpd::Turnstile;

TEST_CASE("so many inside, so many waiting in order, the rest turned away") {
    Turnstile turnstile;
    std::string went;
    Turnstile::Ticket tickets[5] = {};
    const auto enter = [&](std::size_t i) {
        return turnstile.enter({2, 2}, tickets[i], [&went, i] { went += std::to_string(i); });
    };
    for (std::size_t i = 0; i < 4; ++i) CHECK(enter(i));
    CHECK(went == "01");
    CHECK_FALSE(enter(4));
    CHECK(tickets[4] == 0);
    turnstile.leave(tickets[1]);
    CHECK(went == "012");
    CHECK(enter(4));
    turnstile.leave(tickets[3]); // who waited no longer wants to
    turnstile.leave(tickets[3]);
    turnstile.leave(tickets[0]);
    CHECK(went == "0124");
    turnstile.leave(tickets[2]);
    turnstile.leave(tickets[4]);
    CHECK(turnstile.inside() == 0);
    CHECK(turnstile.waiting() == 0);
}

TEST_CASE("who leaves as it goes lets the next go") {
    Turnstile turnstile;
    std::string went;
    Turnstile::Ticket first = 0, second = 0, third = 0;
    CHECK(turnstile.enter({1, 9}, first, [&] { went += "1"; }));
    CHECK(turnstile.enter({1, 9}, second, [&] {
        went += "2";
        turnstile.leave(second);
    }));
    CHECK(turnstile.enter({1, 9}, third, [&] { went += "3"; }));
    turnstile.leave(first);
    CHECK(went == "123");
}
