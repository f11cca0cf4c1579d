#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/wake.h"
#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <thread>

using namespace common;
using namespace std::chrono_literals;

TEST_CASE("what is scheduled during a turn runs once, at its end, even if it schedules more or destroys itself") {
    Loop loop;
    std::string order;
    TurnHook second(loop, [&] { order += '2'; });
    std::unique_ptr<TurnHook> first;
    first = std::make_unique<TurnHook>(loop, [&] {
        order += '1';
        second.schedule();
        loop.defer([&] { order += '3'; });
        first.reset();
    });
    auto never = std::make_unique<TurnHook>(loop, [&] { order += 'x'; });
    Timer timer(loop, [&] {
        order += 't';
        first->schedule();
        first->schedule();
        never->schedule();
        never.reset();
    });
    timer.start(1ms);
    loop.run();
    CHECK(order == "t123");
}

TEST_CASE("another thread wakes the loop") {
    Loop loop;
    int woken = 0;
    auto wake = std::make_unique<Wake>(loop, [&] {
        ++woken;
        loop.stop();
    });
    std::thread other([&] {
        for (int i = 0; i < 1000; ++i) wake->signal();
    });
    loop.run();
    other.join();
    CHECK(woken >= 1);
}
