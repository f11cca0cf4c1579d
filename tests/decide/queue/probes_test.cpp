// What is tried first where little may be tried: the probes of a queue or link that is not ready.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// A queue whose host defers everything for an hour, with so many messages that it defers for ever and 50 others.
// Minutes from the end of the trouble to the first good message delivered.
double first_good_after(int problems) {
    Bench b;
    std::vector<spool::QueueId> bad, good;
    bool trouble = false;
    double delivered = -1;
    const auto is_bad = [&](const Handed& h) { return std::ranges::count(bad, h.id) > 0; };
    const auto serve = [&] {
        while (!b.handed.empty()) {
            const Handed h = b.take();
            const bool fails = trouble || is_bad(h);
            if (!fails && delivered < 0 && std::ranges::count(good, h.id) > 0) delivered = b.seconds();
            b.answer(h, fails ? Outcome::deferred : Outcome::delivered, FailureKind::message);
        }
    };
    const auto live = [&](smtp::Duration time) {
        for (smtp::Duration t{}; t < time; t += 10s) {
            b.pass(10s);
            serve();
        }
    };
    for (int n = 0; n < problems; ++n) { // become problem messages while the queue is well
        const auto healthy = b.send({"d.example"});
        serve();
        CHECK(std::ranges::count(b.removed, healthy) == 1);
        bad.push_back(b.send({"d.example"}));
        serve();
        b.pass(1s);
    }
    for (int n = 0; n < 60; ++n) { // … their second failure comes while other mail gets through
        b.send({"d.example"});
        serve();
        live(10s);
    }
    trouble = true;
    for (int n = 0; n < 50; ++n) good.push_back(b.send({"d.example"}));
    serve();
    live(1h);
    trouble = false;
    const double mended = b.seconds();
    for (int hours = 0; hours < 12 && delivered < 0; ++hours) live(1h);
    REQUIRE(delivered >= 0);
    return (delivered - mended) / 60;
}

void leave(Bench& b, AgentId agent, AgentExit how) {
    std::erase_if(b.handed, [&](const Handed& each) { return each.agent == agent; });
    b.engine.agent_gone(agent, how, b.now(), b.out);
    b.run();
}

} // namespace

TEST_CASE("after an outage the first good mail goes out by the next probe, whatever else waits") {
    for (const int problems : {0, 2, 10, 30}) {
        CAPTURE(problems);
        const double minutes = first_good_after(problems);
        MESSAGE("problem messages: ", problems, ", first good mail after min: ", minutes);
        CHECK(minutes <= 15.2);
    }
}

TEST_CASE("of problem messages one that failed least is tried first: an outage has made it one") {
    Settings s = Bench::exact();
    s.failures_before_problem = 1;
    Bench b(s);
    std::vector<spool::QueueId> bad;
    for (int n = 0; n < 5; ++n) {
        bad.push_back(b.send({"d.example"}));
        while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred, FailureKind::message);
        b.pass(2h);
        while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred, FailureKind::message);
    }
    for (int hours = 0; hours < 5; ++hours) {
        b.pass(1h);
        while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred, FailureKind::message);
    }
    const auto good = b.send({"d.example"});
    int tries = 0; // of the good one, after the outage has made it a problem, too
    for (int n = 0; n < 3; ++n) {
        b.pass(16min);
        REQUIRE(!b.handed.empty());
        if (b.take().id == good && ++tries == 2) break;
        b.answer(b.take(), Outcome::deferred, FailureKind::message);
    }
    CHECK(tries == 2);
}

TEST_CASE("a link's probe is made with healthy mail of any of its queues") {
    Settings s = Bench::exact();
    s.failures_before_problem = 1;
    Bench b(s);
    b.link_of = {{"a.example", "relay"}, {"b.example", "relay"}};
    const auto bad = b.send({"a.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    b.connects = false;
    b.pass(60s);
    REQUIRE(b.opened.size() == 1);
    b.refuse(b.opened.back()); // the link is down, and the problem message is due
    const auto good = b.send({"b.example"});
    b.connects = true;
    b.pass(60s);
    REQUIRE(!b.handed.empty());
    CHECK(b.take().id == good);
    b.answer(b.take(), Outcome::delivered);
    REQUIRE(!b.handed.empty());
    CHECK(b.take().id == bad);
}

TEST_CASE("a suspect leaves the probe to healthy mail") {
    Bench b;
    b.engine.agent_attached(3, AgentKind::smtp, 1000, b.now(), b.out);
    b.connects = false;
    b.send({"d.example"});
    leave(b, b.take().agent, AgentExit::crashed);
    b.engine.agent_attached(4, AgentKind::smtp, 1000, b.now(), b.out);
    b.run();
    REQUIRE(!b.opened.empty());
    b.refuse(b.opened.back()); // tried alone, and nobody answers
    const auto good = b.send({"d.example"});
    b.connects = true;
    b.pass(60s);
    REQUIRE(!b.handed.empty());
    CHECK(b.take().id == good);
    b.answer(b.take(), Outcome::delivered);
    b.pass(1s);
    REQUIRE(!b.handed.empty());
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.engine.counts().messages == 0);
}

TEST_CASE("a suspect whose link is well is tried, however many wait before it for links that are not") {
    Bench b;
    b.engine.agent_attached(3, AgentKind::smtp, 1000, b.now(), b.out);
    for (int n = 0; n < 600; ++n) b.send({"d" + std::to_string(n) + ".example"});
    const auto well = b.send({"well.example"});
    for (int n = 0; n < 600; ++n) b.engine.pause(Scope::link, "d" + std::to_string(n) + ".example", b.now(), b.out);
    leave(b, 1, AgentExit::crashed);
    leave(b, 3, AgentExit::crashed);
    b.engine.agent_attached(4, AgentKind::smtp, 1000, b.now(), b.out);
    b.engine.agent_attached(5, AgentKind::smtp, 1000, b.now(), b.out);
    b.run();
    b.pass(1min);
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().id == well);
    b.answer(b.take(), Outcome::delivered);
    CHECK(std::ranges::count(b.removed, well) == 1);
}

TEST_CASE("a suspect that finds no agent to itself expires, and its sender is told why") {
    Bench b;
    b.send({"d.example"});
    leave(b, 1, AgentExit::crashed);
    b.pass(24h * 6);
    CHECK(b.handed.empty());
    REQUIRE(b.expired.size() == 1);
    REQUIRE(!b.reports.empty());
    CHECK(b.reports.back().recipients[0].reason.text.contains("delivery agent"));
    CHECK(b.engine.counts().messages == 0);
}
