// For how long mail waited before which gate, as history has it.
#include "daemons/decide/queue/model/closed_times.h"
#include "tests/decide/queue/bench.h"

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

GateWaits waited(Bench& b) {
    const auto known = b.engine.in_flight(b.take().delivery);
    REQUIRE(known);
    return known->waits;
}

} // namespace

TEST_CASE("periods that overlap count once") {
    CHECK(total({}) == 0);
    CHECK(total({{10, 20}, {5, 12}, {30, 40}, {32, 35}}) == 25);
}

TEST_CASE("closed times: what lies between, as far back as is remembered") {
    ClosedTimes times;
    times.set(true, 10);
    times.set(true, 12); // it is
    times.set(false, 20);
    times.set(true, 30);
    const auto between = [&](Seconds from, Seconds to) {
        Periods out;
        times.collect(from, to, out);
        return total(out);
    };
    CHECK(between(1, 100) == 80);
    CHECK(between(15, 35) == 10);
    CHECK(between(21, 29) == 0);
    for (Seconds n = 0; n < ClosedTimes::most; ++n) {
        times.set(false, 100 + 10 * n);
        times.set(true, 101 + 10 * n);
    }
    CHECK(between(1, 30) == 0); // forgotten
}

TEST_CASE("which way a delivery in flight goes; of others nothing is known") {
    Bench b;
    b.rule = "*.example";
    b.send({"a.example"});
    const auto handed = b.take();
    const auto known = b.engine.in_flight(handed.delivery);
    REQUIRE(known);
    CHECK(known->queue == "a.example");
    CHECK(known->waits == GateWaits{});
    b.answer(handed, Outcome::delivered);
    CHECK_FALSE(b.engine.in_flight(handed.delivery));
}

TEST_CASE("a pause counts from when the mail was due, and an overlapping one does not count twice") {
    Bench b;
    b.engine.pause(Scope::everything, "", b.now(), b.out);
    b.pass(100s);
    b.send({"a.example"});
    b.pass(50s);
    b.engine.pause(Scope::queue, "a.example", b.now(), b.out);
    b.pass(50s);
    b.engine.resume(Scope::everything, "", b.now(), b.out);
    b.run();
    b.pass(30s);
    b.engine.resume(Scope::queue, "a.example", b.now(), b.out);
    b.run();
    CHECK(waited(b) == GateWaits{130, 0});
    b.pass(20s); // in flight
    CHECK(waited(b) == GateWaits{130, 0});
}

TEST_CASE("a link that backs off; its pause meanwhile is one of an operator") {
    Bench b;
    b.connects = false;
    b.send({"a.example"});
    b.refuse(b.opened.front());
    while (b.opened.empty()) b.pass(1s);
    const auto backoff = static_cast<std::uint32_t>(b.seconds());
    CHECK(waited(b).link == backoff);
    b.engine.pause(Scope::link, "a.example", b.now(), b.out);
    b.refuse(b.opened.front());
    b.pass(1000s);
    b.engine.resume(Scope::link, "a.example", b.now(), b.out);
    b.run();
    while (b.opened.empty()) b.pass(1s);
    const auto waits = waited(b);
    CHECK(waits.pause == 1000);
    CHECK(waits.link == static_cast<std::uint32_t>(b.seconds()) - 1000);
}

TEST_CASE("its own retry schedule and a hold are not the link's: counting begins again") {
    Bench b;
    b.send({"a.example"});
    b.answer(b.take(), Outcome::deferred);
    const auto tried = b.seconds();
    while (b.handed.empty()) b.pass(1s);
    CHECK(b.seconds() >= tried + 60);
    CHECK(waited(b) == GateWaits{});
    b.engine.pause(Scope::everything, "", b.now(), b.out);
    const auto held = b.send({"b.example"});
    b.pass(100s);
    b.engine.hold(held, b.now(), b.out);
    b.pass(100s);
    b.engine.release(held, b.now(), b.out);
    b.pass(10s);
    b.handed.clear();
    b.engine.resume(Scope::everything, "", b.now(), b.out);
    b.run();
    CHECK(waited(b) == GateWaits{10, 0});
}

TEST_CASE("what another link did before the mail went there is not counted") {
    Bench b;
    b.link_of["a.example"] = "first";
    b.connects = false;
    b.send({"c.example"}); // its link fails
    b.link_of["c.example"] = "second";
    b.refuse(b.opened.front());
    b.pass(1s);
    b.engine.routes_changed(b.now(), b.out);
    b.run();
    const auto linked = b.seconds();
    b.connects = true;
    while (b.handed.empty()) b.pass(1s);
    CHECK(waited(b).link <= static_cast<std::uint32_t>(b.seconds() - linked) + 1);
}

TEST_CASE("a link's failures change its state once for each rung of its kind") {
    Bench b;
    b.connects = false;
    b.send({"a.example"});
    for (int n = 0; n < 8; ++n) {
        b.refuse(b.opened.front());
        for (int s = 0; s < 3600 && b.opened.empty(); ++s) b.pass(1s);
        REQUIRE_FALSE(b.opened.empty());
    }
    REQUIRE(b.link_notices.size() == 8);
    CHECK(b.link_notices.front() == std::pair(Health::glitch, true));
    CHECK(std::ranges::count(b.link_notices, std::pair(Health::retry, true)) == 1);
    CHECK(std::ranges::count(b.link_notices, true, &std::pair<Health, bool>::second) == 2);
}
