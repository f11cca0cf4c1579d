// Connections and turns: windows, batches, limits, lanes, fairness.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// Peers that take `pace` for each transaction, one after the other on each connection.
void serve(Bench& b, smtp::Duration pace, smtp::Duration span, smtp::Duration step) {
    std::map<ConnectionId, smtp::Duration> busy_until;
    std::map<ConnectionId, DeliveryId> at_work;
    const smtp::Duration until = b.time + span;
    while (b.time < until) {
        std::vector<Handed> finished;
        for (const Handed& h : b.handed) {
            if (!at_work.contains(h.connection)) {
                at_work[h.connection] = h.delivery;
                busy_until[h.connection] = b.time + pace;
            }
            if (at_work[h.connection] == h.delivery && busy_until[h.connection] <= b.time) finished.push_back(h);
        }
        for (const Handed& h : finished) {
            at_work.erase(h.connection);
            b.answer(h, Outcome::delivered);
        }
        b.pass(step);
    }
}

} // namespace

TEST_CASE("ten slow links ramp to a hundred connections each within seconds") {
    Bench b;
    for (int n = 0; n < 2000; ++n)
        for (int link = 0; link < 10; ++link) b.send({"d" + std::to_string(link) + ".example"});
    serve(b, 1s, 6s, 20ms);
    for (const auto& link : b.engine.links(b.now())) CHECK(link.connections == 100);
    CHECK(b.removed.size() > 2000);
}

TEST_CASE("a quick peer is served over a few connections") {
    Bench b;
    for (int n = 0; n < 400; ++n) {
        for (int each = 0; each < 5; ++each) b.send({"quick.example"});
        serve(b, 300us, 1ms, 100us);
    }
    CHECK(b.link("quick.example").connections <= 8);
    serve(b, 300us, 1s, 100us);
    CHECK(b.removed.size() == 2000);
}

TEST_CASE("up to a batch is handed ahead to a connection that is quick, one to a fresh one") {
    Bench b;
    b.connects = false;
    b.send({"d.example"});
    for (int n = 0; n < 100; ++n) b.send({"d.example"});
    CHECK(b.handed.size() == 1);
    b.up(b.opened[0]);
    b.pass(200us);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.handed.size() == 20);
}

TEST_CASE("a user's slow commands leave room for others' mail, and follow one another as they end") {
    Bench b;
    for (int n = 0; n < 50; ++n) b.send({"local/ann"});
    REQUIRE(b.handed.size() == 2);
    const auto waits = b.send({"local/ann"});
    const auto gates = b.engine.explain(waits).at(0).gates;
    const auto window = std::ranges::find(gates, Gate::window, &GateInfo::gate);
    REQUIRE(window != gates.end());
    CHECK_FALSE(window->open);
    CHECK(window->reason.text == "queue.connections_per_user");

    const auto commands = b.handed;
    b.send({"local"}); // others' mailboxes, and commands
    b.send({"local/bob"});
    REQUIRE(b.handed.size() == 4);
    CHECK(b.link("store:local").connections == 4); // one link, whose limit is for all of them
    CHECK(b.queue("store:local/ann").deliveries == 51);

    b.answer(commands[0], Outcome::delivered);
    CHECK(b.handed.size() == 4); // its next one
    b.answer(commands[1], Outcome::deferred);
    CHECK(b.handed.size() == 4);
    for (int n = 0; n < 1000 && b.queue("store:local/ann").deliveries > 0; ++n) {
        const auto next = b.handed; // all that is under way
        for (const auto& each : next) b.answer(each, Outcome::delivered);
        b.pass(1s);
    }
    CHECK(b.removed.size() == 53);
}

TEST_CASE("a user's commands that an agent takes with it make room") {
    Bench b;
    for (int n = 0; n < 5; ++n) b.send({"local/ann"});
    REQUIRE(b.handed.size() == 2);
    b.handed.clear();
    b.engine.agent_gone(2, AgentExit::orderly, b.now(), b.out);
    b.run();
    CHECK(b.handed.empty());
    b.engine.agent_attached(3, AgentKind::local, 100, b.now(), b.out);
    b.run();
    CHECK(b.handed.size() == 2);
}

TEST_CASE("idle connections are used again, and closed after a while") {
    Bench b;
    b.send({"d.example"});
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.opened.size() == 1);
    b.pass(2s);
    b.send({"d.example"});
    CHECK(b.tries.size() == 1);
    b.answer(b.take(), Outcome::delivered);
    b.pass(2900ms);
    CHECK(b.opened.size() == 1);
    b.pass(200ms);
    CHECK(b.opened.empty());
}

TEST_CASE("a connection serves messages_per_connection messages") {
    Settings s = Bench::exact();
    s.messages_per_connection = 3;
    Bench b(s);
    for (int n = 0; n < 7; ++n) {
        b.send({"d.example"});
        b.answer(b.take(), Outcome::delivered);
    }
    CHECK(b.tries.size() == 3);
}

TEST_CASE("limits: 20 for MX links, 1000 in all, a fifth while others wait") {
    Bench b;
    b.connects = false;
    b.route_kind["mx.example"] = RouteKind::mx;
    for (int n = 0; n < 500; ++n) b.send({"mx.example"});
    CHECK(b.link("mx.example").limit == 20);

    Settings s = Bench::exact();
    s.connections_total = 10;
    s.window_start_route = 100;
    Bench c(s);
    c.connects = false;
    for (int n = 0; n < 100; ++n) c.send({"a.example"});
    c.pass(10s);
    CHECK(c.opened.size() == 10); // alone: all of it
    c.send({"b.example"});
    CHECK(c.link("b.example").connections == 0);
    c.refuse(c.opened.back());
    CHECK(c.link("b.example").connections == 1);
}

TEST_CASE("push-back while others get through only shrinks the window") {
    Bench b;
    b.connects = false;
    for (int n = 0; n < 300; ++n) b.send({"d.example"});
    b.up(b.opened[0]);
    b.pass(300ms);
    b.answer(b.handed.front(), Outcome::delivered);
    b.pass(300ms);
    REQUIRE(b.opened.size() > 2);
    b.refuse(b.opened.back(), PushBack::yes);
    CHECK(b.link("d.example").health == Health::ready);
    CHECK(b.link("d.example").window == 1);
}

TEST_CASE("after a failure one probe, then the window grows") {
    Bench b;
    b.connects = false;
    for (int n = 0; n < 1000; ++n) b.send({"d.example"});
    while (!b.opened.empty()) b.refuse(b.opened.front());
    b.connects = true;
    b.pass(60s);
    CHECK(b.opened.size() == 1);
    CHECK(b.handed.size() == 1);
    b.pass(10s);
    CHECK(b.opened.size() == 1);
    serve(b, 1s, 6s, 50ms);
    CHECK(b.link("d.example").connections >= 16);
}

TEST_CASE("lanes share by weight; bulk moves on but does not delay") {
    Bench b;
    b.connects = false;
    b.send({"d.example"});
    Accepted bulk, high;
    bulk.lane = Lane::bulk;
    high.lane = Lane::high;
    std::vector<spool::QueueId> urgent;
    for (int n = 0; n < 100; ++n) b.send({"d.example"}, bulk);
    for (int n = 0; n < 100; ++n) urgent.push_back(b.send({"d.example"}, high));
    b.up(b.opened[0]);
    int early = 0;
    b.answer(b.take(), Outcome::delivered);
    for (int n = 0; n < 34; ++n) {
        early += std::ranges::count(urgent, b.take().id) > 0;
        b.pass(2s); // slow: one at a time
        b.answer(b.take(), Outcome::delivered);
        while (b.opened.size() > 1) b.refuse(b.opened.back());
    }
    CHECK(early >= 30);
    CHECK(early < 34);
}

TEST_CASE("one sender's flood does not starve another of the same queue") {
    Bench b;
    b.connects = false;
    Accepted flood, other;
    flood.submitter = "uid:1";
    other.submitter = "uid:2";
    for (int n = 0; n < 500; ++n) b.send({"d.example"}, flood);
    const auto id = b.send({"d.example"}, other);
    b.up(b.opened[0]);
    int before = 0;
    while (std::ranges::count(b.removed, id) == 0) {
        b.answer(b.handed.front(), Outcome::delivered);
        ++before;
    }
    CHECK(before < 50);
}

TEST_CASE("problem messages get one turn in twenty on a queue that never runs empty") {
    Bench b;
    const auto bad = b.send({"d.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    b.pass(60s);
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    b.pass(60s); // a problem now, and due
    CHECK(b.take().id == bad);
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    b.engine.pause(Scope::queue, "d.example", b.now(), b.out);
    b.pass(601s);
    for (int n = 0; n < 60; ++n) b.send({"d.example"});
    b.engine.resume(Scope::queue, "d.example", b.now(), b.out);
    b.run();
    int before = 0;
    for (; b.take().id != bad && before < 60; ++before) b.answer(b.take(), Outcome::delivered);
    CHECK(before == 19);
}

TEST_CASE("what a connection gives back untried is the first that the next one is handed") {
    Settings s = Bench::exact();
    s.connections_route = 1;
    Bench b(s);
    for (const char* domain : {"a.example", "b.example"}) b.link_of[domain] = "[one]";
    for (int n = 0; n < 3; ++n)
        for (const char* domain : {"a.example", "b.example"}) b.send({domain});
    b.answer(b.take(), Outcome::delivered); // and b.example's first comes behind it
    const Handed back = b.take();
    CHECK(b.recipients[back.id.value].front() == "b.example");
    b.handed.clear();
    b.opened.clear();
    b.engine.closed({.connection = back.connection, .was_up = true}, b.now(), b.out);
    b.run();
    CHECK(b.take().id == back.id);
}

TEST_CASE("recipients: at most recipients_per_transaction at a time, none twice") {
    Settings s = Bench::exact();
    s.recipients_per_transaction = 10;
    Bench b(s);
    const auto id = b.send(std::vector<std::string>(25, "d.example"));
    std::vector<RecipientNumber> all;
    while (!b.handed.empty()) {
        const Handed h = b.take();
        CHECK(h.numbers.size() <= 10);
        all.insert(all.end(), h.numbers.begin(), h.numbers.end());
        b.answer(h, Outcome::delivered);
    }
    std::ranges::sort(all);
    CHECK(all.size() == 25);
    CHECK(std::ranges::adjacent_find(all) == all.end());
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("memory: at most 200 bytes for a queued message with one recipient") {
    Bench b;
    b.engine.pause(Scope::everything, "", b.now(), b.out);
    for (int n = 0; n < 100; ++n) b.send({"d" + std::to_string(n) + ".example"});
    const std::size_t before = b.engine.bytes();
    for (int n = 0; n < 200'000; ++n) b.send({"d" + std::to_string(n % 100) + ".example"});
    CHECK((b.engine.bytes() - before) / 200'000 <= 200);
}
