// Where the time goes until a connection takes mail.
#include "daemons/smtp-client/session/setup_clock.h"
#include <doctest/doctest.h>

using proto::delivery::SetupTimes;
using smtp_client::SetupClock;
using namespace std::chrono_literals;

TEST_CASE("each phase has its sum, over all hosts that were tried; the one in progress counts until now") {
    const smtp::Monotonic start{1000s};
    SetupClock clock;
    CHECK(clock.until(start) == SetupTimes{});
    clock.enter(&SetupTimes::dns, start);
    clock.enter(&SetupTimes::connect, start + 2ms);
    clock.enter(&SetupTimes::dns, start + 5ms); // the next host
    clock.enter(&SetupTimes::connect, start + 6ms);
    clock.enter(&SetupTimes::session, start + 7ms);
    clock.enter(&SetupTimes::tls, start + 9ms);
    CHECK(clock.until(start + 20ms) == SetupTimes{.dns = 3000, .connect = 4000, .tls = 11'000, .session = 2000});
    clock.enter(&SetupTimes::session, start + 21ms);
    clock.enter(nullptr, start + 22ms);
    const SetupTimes all{.dns = 3000, .connect = 4000, .tls = 12'000, .session = 3000};
    CHECK(clock.until(start + 1h) == all);
    clock.restart();
    CHECK(clock.until(start + 1h) == SetupTimes{});
}

TEST_CASE("a phase that takes for ever stays at the most there can be") {
    SetupClock clock;
    clock.enter(&SetupTimes::tls, {});
    CHECK(clock.until(smtp::Monotonic(2h)).tls == UINT32_MAX);
}
