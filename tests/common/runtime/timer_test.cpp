#include "daemons/common/runtime/timer.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <string>

using namespace common;
using namespace std::chrono_literals;

namespace {
smtp::Monotonic at(std::int64_t seconds) { return smtp::Monotonic(std::chrono::seconds(seconds)); }
} // namespace

TEST_CASE("deadlines pass in order of time, those moved or cleared not before") {
    Deadlines deadlines;
    std::string passed;
    Deadline a(deadlines, [&] { passed += 'a'; }), b(deadlines, [&] { passed += 'b'; }),
        c(deadlines, [&] { passed += 'c'; });
    CHECK_FALSE(deadlines.next());
    a.set(at(30));
    b.set(at(20));
    c.set(at(10));
    CHECK(deadlines.next() == at(10));
    c.set(at(40)); // further away
    CHECK(deadlines.next() == at(20));
    b.clear();
    CHECK(deadlines.next() == at(30));
    deadlines.advance(at(29));
    CHECK(passed == "");
    b.set(at(25)); // nearer again
    deadlines.advance(at(50));
    CHECK(passed == "bac");
    CHECK_FALSE(deadlines.next());
    CHECK_FALSE(a.due());
}

TEST_CASE("a deadline may destroy others and itself, and set itself anew") {
    Deadlines deadlines;
    int times = 0;
    auto other = std::make_unique<Deadline>(deadlines, [] { FAIL("it was destroyed"); });
    std::unique_ptr<Deadline> self;
    self = std::make_unique<Deadline>(deadlines, [&] {
        other.reset();
        if (++times < 3) return self->set(at(10 * times));
        self.reset();
    });
    self->set(at(1));
    other->set(at(2));
    deadlines.advance(at(100));
    CHECK(times == 3);
    CHECK_FALSE(deadlines.next());
}

TEST_CASE("ten thousand deadlines agree with a plain list") {
    std::mt19937 random(7);
    Deadlines deadlines;
    std::vector<std::unique_ptr<Deadline>> all;
    std::vector<std::int64_t> due(300, -1); // -1: none
    std::vector<std::size_t> passed;
    for (std::size_t i = 0; i < due.size(); ++i)
        all.push_back(std::make_unique<Deadline>(deadlines, [&, i] { passed.push_back(i); }));
    for (std::int64_t now = 0; now < 5000; ++now) {
        for (int n = 0; n < 3; ++n) {
            const auto i = random() % due.size();
            if (random() % 5 == 0) {
                all[i]->clear();
                due[i] = -1;
            } else {
                due[i] = now + 1 + static_cast<std::int64_t>(random() % 200);
                all[i]->set(at(due[i]));
            }
        }
        std::vector<std::size_t> expected;
        std::int64_t first = -1;
        for (std::size_t i = 0; i < due.size(); ++i) {
            if (due[i] >= 0 && due[i] <= now) expected.push_back(i), due[i] = -1;
            if (due[i] >= 0 && (first < 0 || due[i] < first)) first = due[i];
        }
        passed.clear();
        deadlines.advance(at(now));
        std::ranges::sort(passed);
        REQUIRE(passed == expected);
        REQUIRE(deadlines.next() == (first < 0 ? std::optional<smtp::Monotonic>() : at(first)));
    }
}

TEST_CASE("on a loop, timers and deadlines are never early") {
    Loop loop;
    const auto begun = Loop::now().monotonic;
    smtp::Duration timer_after{}, deadline_after{};
    Timer timer(loop, [&] { timer_after = Loop::now().monotonic - begun; });
    LoopDeadlines deadlines(loop);
    Deadline deadline(deadlines, [&] { deadline_after = Loop::now().monotonic - begun; });
    timer.start(20ms);
    deadline.set(begun + 5ms);
    deadline.set(begun + 30ms);
    loop.run();
    CHECK(timer_after >= 20ms);
    CHECK(deadline_after >= 30ms);
}
