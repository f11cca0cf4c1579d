// The operator's hand: what each word does, and that explain names the one gate that blocks.
#include "tests/decide/queue/bench.h"

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// The gates that are closed for the message's first delivery, and no other.
std::vector<Gate> closed(Bench& b, spool::QueueId id) {
    std::vector<Gate> out;
    const auto all = b.engine.explain(id);
    REQUIRE(!all.empty());
    for (const GateInfo& gate : all.front().gates)
        if (!gate.open) out.push_back(gate.gate);
    return out;
}

GateInfo gate(Bench& b, spool::QueueId id, Gate which) {
    for (const auto& each : b.engine.explain(id))
        for (const GateInfo& g : each.gates)
            if (g.gate == which) return g;
    return {};
}

using Gates = std::vector<Gate>;

} // namespace

TEST_CASE("what an agent of an earlier queue-manager still delivers is in flight, not held, and ages") {
    Bench b;
    const auto id = b.send({"a.example"}, {.with_earlier_agent = true});
    b.pass(1h);
    CHECK(b.handed.empty());
    const auto before = b.engine.message(id, b.now());
    REQUIRE(before);
    CHECK(before->active);
    CHECK_FALSE(before->held);
    CHECK(b.engine.counts().held == 0);
    CHECK(before->deliveries[0].waiting == Waiting::active);
    CHECK(closed(b, id)[0] == Gate::agent);
    CHECK_FALSE(b.engine.release(id, b.now(), b.out));
    b.engine.agent_released(id, b.now(), b.out);
    b.run();
    CHECK(b.engine.message(id, b.now())->expiry == before->expiry);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("explain: each gate, the only one that blocks") {
    Settings s = Bench::exact();
    SUBCASE("schedule") {
        Bench b;
        const auto id = b.send({"x.example"}, {.not_before = b.now().wall + 1h});
        CHECK(closed(b, id) == Gates{Gate::schedule});
        CHECK(gate(b, id, Gate::schedule).until == b.now().wall + 1h);
        CHECK(b.engine.explain(id).front().next_attempt == b.now().wall + 1h);
    }
    SUBCASE("hold") {
        Bench b;
        const auto id = b.send({"x.example"}, {.held = true});
        CHECK(closed(b, id) == Gates{Gate::hold}); // the categorizer is asked when it is released
        const auto sorted = b.send({"y.example"});
        b.answer(b.take(), Outcome::deferred);
        b.pass(59s);
        b.engine.hold(sorted, b.now(), b.out);
        b.run();
        b.pass(2s);
        CHECK(closed(b, sorted) == Gates{Gate::hold});
    }
    SUBCASE("pause of everything, a queue, a link, a pool") {
        for (const Scope scope : {Scope::everything, Scope::queue, Scope::link, Scope::pool}) {
            Bench b;
            const std::string name = scope == Scope::everything ? ""
                                     : scope == Scope::pool     ? "blue"
                                     : scope == Scope::queue    ? "x.example@blue"
                                                                : "x.example@blue";
            CHECK(b.engine.pause(scope, name, b.now(), b.out));
            const auto id = b.send({"x.example"}, {.pool = "blue"});
            CHECK(b.handed.empty());
            CHECK(closed(b, id) == Gates{Gate::pause});
            CHECK(gate(b, id, Gate::pause).scope == scope);
            CHECK(gate(b, id, Gate::pause).name == name);
            CHECK(b.engine.counts().paused == 1);
            CHECK(b.engine.counts().free == 0);
            CHECK_FALSE(b.engine.pause(scope, name, b.now(), b.out));
            CHECK(b.engine.resume(scope, name, b.now(), b.out));
            CHECK_FALSE(b.engine.resume(scope, name, b.now(), b.out));
            b.run();
            CHECK(b.handed.size() == 1);
            CHECK(closed(b, id).empty()); // in flight
        }
    }
    SUBCASE("categorizer") {
        Bench b;
        b.sorts = false;
        const auto id = b.send({"x.example"});
        CHECK(closed(b, id) == Gates{Gate::categorizer});
        CHECK(b.engine.counts().uncategorized == 1);
    }
    SUBCASE("route") {
        Bench b;
        b.route_kind["x.example"] = RouteKind::temporary;
        const auto id = b.send({"x.example"});
        CHECK(closed(b, id) == Gates{Gate::route});
        CHECK(gate(b, id, Gate::route).reason.text == "because");
        CHECK(gate(b, id, Gate::route).until == b.now().wall + 1min);
        CHECK(b.engine.counts().routing == 1);
    }
    SUBCASE("link") {
        Bench b;
        b.connects = false;
        const auto id = b.send({"x.example"});
        b.refuse(b.opened.front());
        CHECK(closed(b, id) == Gates{Gate::link});
        CHECK(gate(b, id, Gate::link).until == b.now().wall + 1min);
        CHECK(gate(b, id, Gate::link).reason.text == "because");
        CHECK(gate(b, id, Gate::link).text == "1 failure");
        CHECK(b.engine.counts().retrying == 1);
        b.pass(1min);
        b.refuse(b.opened.front());
        CHECK(gate(b, id, Gate::link).text == "2 failures in a row");
    }
    SUBCASE("queue") {
        Bench b;
        b.send({"x.example"});
        b.answer(b.take(), Outcome::deferred, FailureKind::message);
        const auto id = b.send({"x.example"});
        CHECK(closed(b, id) == Gates{Gate::queue});
        CHECK(gate(b, id, Gate::queue).reason.text == "because");
    }
    SUBCASE("ladder") {
        Bench b;
        const auto id = b.send({"x.example"});
        b.answer(b.take(), Outcome::deferred);
        CHECK(closed(b, id) == Gates{Gate::ladder});
        CHECK(gate(b, id, Gate::ladder).until == b.now().wall + 1min);
        CHECK(gate(b, id, Gate::ladder).text == "1 failed attempt for this recipient");
    }
    SUBCASE("rate") {
        s.routes["rule"] = {.messages_per_hour = 60};
        Bench b(s);
        b.rule = "rule";
        b.send({"x.example"});
        b.answer(b.take(), Outcome::delivered);
        const auto id = b.send({"x.example"});
        CHECK(closed(b, id) == Gates{Gate::rate});
        CHECK(gate(b, id, Gate::rate).until == b.now().wall + 1min);
        CHECK(gate(b, id, Gate::rate).reason.text.starts_with("route.\"rule\""));
    }
    SUBCASE("window: of the link") {
        s.connections_route = 1;
        s.batch = 1;
        Bench b(s);
        b.send({"x.example"});
        const auto id = b.send({"x.example"});
        CHECK(closed(b, id) == Gates{Gate::window});
        CHECK(gate(b, id, Gate::window).reason.text == "queue.connections_route");
    }
    SUBCASE("window: of all connections together") {
        s.connections_total = 1;
        Bench b(s);
        b.connects = false;
        b.send({"x.example"});
        const auto id = b.send({"y.example"});
        CHECK(closed(b, id) == Gates{Gate::window});
        CHECK(gate(b, id, Gate::window).reason.text.starts_with("queue.connections_total"));
    }
    SUBCASE("window: of the address") {
        s.connections_per_address = 1;
        Bench b(s);
        for (const char* domain : {"x.example", "y.example"}) {
            b.route_kind[domain] = RouteKind::mx;
            b.address_of[domain] = "192.0.2.1:25";
        }
        b.send({"x.example"});
        const auto id = b.send({"y.example"});
        CHECK(closed(b, id) == Gates{Gate::window});
        CHECK(gate(b, id, Gate::window).reason.text == "queue.connections_per_address");
    }
    SUBCASE("turn: behind others; or next, when an open connection has done what it has") {
        s.drain_target = 1h; // no second connection
        s.batch = 1;
        Bench b(s);
        b.send({"x.example"});
        const auto next = b.send({"x.example"});
        CHECK(closed(b, next) == Gates{Gate::turn});
        CHECK(gate(b, next, Gate::turn).text.starts_with("0 from the same submitter are before it"));
        const auto behind = b.send({"x.example"});
        CHECK(closed(b, behind) == Gates{Gate::turn});
        CHECK(gate(b, behind, Gate::turn).text.starts_with("1 from the same submitter are before it"));
    }
    SUBCASE("turn: as many deliveries before it are counted as an answer may take") {
        s.drain_target = 1h;
        s.batch = 1;
        Bench b(s);
        for (int i = 0; i < 100'010; ++i) b.send({"x.example"});
        CHECK(
            gate(b, spool::QueueId{b.last_id}, Gate::turn).text.starts_with("at least 100000 from the same submitter"));
    }
    SUBCASE("turn: a suspect waits for an agent to itself") {
        Bench b;
        const auto id = b.send({"x.example"});
        b.engine.agent_gone(1, AgentExit::crashed, b.now(), b.out);
        b.handed.clear();
        b.run();
        CHECK(closed(b, id) == Gates{Gate::turn});
    }
}

TEST_CASE("hand: expire tells the sender at once, in flight when it comes back") {
    Bench b;
    const auto waits = b.send({"x.example"});
    b.answer(b.take(), Outcome::deferred);
    CHECK(b.engine.expire(waits, b.now(), b.out));
    b.run();
    b.pass(5s);
    REQUIRE(b.reports.size() == 1);
    CHECK(b.reports[0].recipients[0].expired);
    CHECK(b.removed == std::vector{waits});
    const auto flies = b.send({"x.example"});
    CHECK(b.engine.expire(flies, b.now(), b.out));
    b.run();
    CHECK(b.reports.size() == 1);
    b.answer(b.take(), Outcome::deferred);
    b.pass(5s);
    CHECK(b.reports.size() == 2);
    CHECK_FALSE(b.engine.expire(flies, b.now(), b.out));
}

TEST_CASE("hand: another lane") {
    Settings s = Bench::exact();
    s.connections_route = 1;
    s.batch = 1;
    Bench b(s);
    b.send({"x.example"});
    b.send({"x.example"});
    const auto last = b.send({"x.example"});
    CHECK(b.engine.change_lane(last, Lane::high, b.now(), b.out));
    CHECK_FALSE(b.engine.change_lane(last, Lane::high, b.now(), b.out));
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.take().id == last);
}

TEST_CASE("hand: requeue asks the categorizer anew and begins the ladder anew") {
    Bench b;
    const auto id = b.send({"x.example", "y.example"});
    b.answer(b.take(), Outcome::deferred);
    b.answer(b.take(), Outcome::deferred);
    b.pass(60s);
    b.answer(b.take(), Outcome::deferred);
    b.answer(b.take(), Outcome::deferred);
    b.asked.clear();
    CHECK(b.engine.requeue(id, b.now(), b.out));
    b.run();
    CHECK(b.asked == std::vector{id});
    REQUIRE(b.handed.size() == 2);
    b.deferrals.clear();
    b.answer(b.take(), Outcome::deferred);
    CHECK(b.deferrals.back().failures == 1);
    b.answer(b.take(), Outcome::delivered);
    b.pass(60s);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("hand: requeue of what no queue has yet asks at once") {
    Bench b;
    b.sorts = false;
    const auto id = b.send({"x.example"});
    REQUIRE(b.asked == std::vector{id});
    CHECK(b.engine.requeue(id, b.now(), b.out)); // it has the question already
    b.run();
    CHECK(b.asked == std::vector{id});
    b.engine.categorization_failed(id, {}, b.now(), b.out); // it knows nothing now
    b.run();
    CHECK(b.asked.size() == 1);
    b.sorts = true;
    CHECK(b.engine.requeue(id, b.now(), b.out)); // not when its time comes
    b.run();
    CHECK(b.asked.size() == 2);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed == std::vector{id});

    b.sorts = false;
    const auto held = b.send({"y.example"});
    CHECK(b.engine.hold(held, b.now(), b.out));
    CHECK(b.engine.requeue(held, b.now(), b.out));
    b.asked.clear();
    b.sorts = true;
    b.run();
    CHECK(b.asked.empty());
    CHECK(b.engine.release(held, b.now(), b.out));
    b.run();
    b.answer(b.take(), Outcome::delivered);
    CHECK_FALSE(b.engine.requeue(held, b.now(), b.out));
}

TEST_CASE("counts follow what waits for what") {
    Bench b;
    const auto scheduled = b.send({"s.example"}, {.not_before = b.now().wall + 1h});
    b.send({"r.example"});
    b.answer(b.take(), Outcome::deferred);
    auto counts = b.engine.counts();
    CHECK(counts.scheduled == 1);
    CHECK(counts.retrying == 1);
    CHECK(counts.waiting == 2);
    CHECK(b.engine.oldest(b.now())->id == scheduled);
    b.engine.force(scheduled, b.now(), b.out);
    b.run();
    counts = b.engine.counts();
    CHECK(counts.scheduled == 0);
    CHECK(counts.active == 1);
    b.answer(b.take(), Outcome::delivered);
    b.pass(60s);
    b.answer(b.take(), Outcome::delivered);
    counts = b.engine.counts();
    CHECK(counts.retrying + counts.scheduled + counts.free + counts.paused + counts.active == 0);
    CHECK_FALSE(b.engine.oldest(b.now()));
}

TEST_CASE("a queued message with one recipient costs at most 200 bytes") {
    Settings s = Bench::exact();
    s.connections_route = 1;
    Bench b(s);
    b.connects = false;
    constexpr std::size_t many = 200'000;
    for (std::size_t n = 0; n < many; ++n) {
        b.send({"x.example"}, {.submitter = "someone"});
        b.asked.clear();
        b.active.clear();
        b.moved.clear();
    }
    b.pass(10s); // they have left incoming/ and are watched
    CHECK(b.engine.counts().messages == many);
    CHECK(b.engine.bytes() / many <= 200);
}

TEST_CASE("requeue: counters found in the spool do not come back, whether or not it was categorized since") {
    Bench b;
    std::vector<RestoredRecipient> was(2);
    for (std::uint32_t n = 0; n < 2; ++n) was[n] = {.number = n, .failures = 5, .next_attempt = b.now().wall + 7min};
    Accepted a;
    a.location = spool::Location::messages;
    a.restored = was;
    const auto id = b.send({"d.example", "d.example"}, a);
    CHECK(b.asked.empty());
    CHECK(b.engine.requeue(id, b.now(), b.out));
    b.run();
    REQUIRE(b.handed.size() == 1);
    b.answer(b.take(), Outcome::deferred);
    REQUIRE(!b.deferrals.empty());
    CHECK(b.deferrals.back().failures == 1);
}
