// Why mail waits that has no link: said in every view, also while it is tried again, and after a clean restart.
#include "tests/decide/queue/bench.h"

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

DeliveryInfo only(const Bench& b, spool::QueueId id) {
    const auto info = b.engine.message(id, b.now());
    REQUIRE(info);
    REQUIRE(info->deliveries.size() == 1);
    return info->deliveries.front();
}

GateInfo closed_gate(const Bench& b, spool::QueueId id, Gate which) {
    for (const auto& explanation : b.engine.explain(id))
        for (const auto& gate : explanation.gates)
            if (gate.gate == which && !gate.open) return gate;
    FAIL("no such closed gate");
    return {};
}

} // namespace

TEST_CASE("a next hop that cannot be found: the reason, since when and until when, in every view") {
    Bench b;
    b.route_kind["lost.example"] = RouteKind::temporary;
    const auto begun = b.now().wall;
    const auto id = b.send({"lost.example"});
    b.pass(90s); // looked up again, in vain
    CHECK(b.lookups.size() == 2);
    const auto it = only(b, id);
    CHECK(it.waiting == Waiting::route);
    CHECK(it.reason.text == "because");
    CHECK(it.since == begun);
    CHECK(it.next_attempt > b.now().wall);
    CHECK(it.waiting_for == "its next hop could not be determined; it will be looked up again");
    const auto gate = closed_gate(b, id, Gate::route);
    CHECK(gate.reason.text == "because");
    CHECK(gate.since == begun);
    CHECK(gate.until == it.next_attempt);
    const auto queue = b.queue("lost.example");
    CHECK(queue.failures == 2);
    CHECK(queue.failing_since == begun);
    CHECK(queue.last_error.text == "because");
    const auto all = b.engine.unrouted(20);
    REQUIRE(all.size() == 1);
    CHECK(all[0].gate == Gate::route);
    CHECK(all[0].queue == "lost.example");
    CHECK(all[0].deliveries == 1);
    CHECK(all[0].failures == 2);
    CHECK(all[0].failing_since == begun);
    CHECK(all[0].next_attempt == it.next_attempt);
    CHECK(all[0].reason.text == "because");
    b.route_kind.clear();
    b.pass(3min);
    CHECK(b.engine.unrouted(20).empty());
    CHECK(only(b, id).reason.text.empty());
}

TEST_CASE("while it is looked up again the reason stays, and a router that has gone is named besides") {
    Bench b;
    b.route_kind["lost.example"] = RouteKind::temporary;
    const auto id = b.send({"lost.example"});
    b.routes = false; // a name server's silence takes its time
    b.pass(2min);
    REQUIRE(b.lookups.size() == 2);
    auto it = only(b, id);
    CHECK(it.reason.text == "because");
    CHECK(it.waiting_for == "its next hop could not be determined; it is being looked up again");
    CHECK(closed_gate(b, id, Gate::route).reason.text == "because");
    CHECK(b.queue("lost.example").last_error.text == "because");
    CHECK(b.engine.unrouted(20).at(0).reason.text == "because");
    b.engine.service(Service::router, Presence::down, b.now(), b.out);
    b.out = {};
    it = only(b, id);
    CHECK(it.reason.text == "because");
    CHECK(it.waiting_for == "the router is not running");
    CHECK(b.queue("lost.example").idle_reason == "the router is not running");
}

TEST_CASE("after a clean restart the reason is there, and the next hop is asked for at once") {
    std::vector<HealthSnapshot> kept;
    smtp::WallTime begun;
    {
        Bench b;
        b.route_kind["lost.example"] = RouteKind::temporary;
        begun = b.now().wall;
        b.send({"lost.example"});
        b.pass(5min);
        kept = b.engine.health_snapshot();
    }
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].route);
    Bench b;
    b.engine.restore(kept, b.now(), b.out);
    CHECK(b.engine.health_snapshot().size() == 1); // a start that is stopped soon forgets nothing
    b.sorts = true;
    b.engine.service(Service::router, Presence::down, b.now(), b.out);
    const auto id = b.send({"lost.example"});
    CHECK(only(b, id).reason.text == "because");
    CHECK(only(b, id).since == begun);
    CHECK(b.engine.unrouted(20).at(0).failures == kept[0].failures);
    b.engine.service(Service::router, Presence::up, b.now(), b.out);
    b.run();
    CHECK(b.lookups == std::vector<std::string>{"lost.example"});
    CHECK(only(b, id).reason.text.empty()); // found
}

TEST_CASE("mail the categorizer said to wait with: one line for each reason, whatever mail it is") {
    Bench b;
    b.sorts = false;
    const Reason table{"4.3.0", "table socketmap:x does not answer", "", ""};
    const auto undecided = [&](spool::QueueId id) {
        const std::vector<FinalRecipient> finals{
            {.number = 0, .fate = Fate::unknown, .destination = {}, .reason = &table}};
        b.engine.categorized({id, finals}, b.now(), b.out);
        b.run();
    };
    for (int i = 0; i < 3; ++i) undecided(b.send({"x.example"}));
    const auto silent = b.send({"x.example"});
    b.engine.categorization_failed(silent, {}, b.now(), b.out);
    b.run();
    const auto asked = b.send({"x.example"});
    CHECK(only(b, asked).waiting_for == "the categorizer is working on it");
    CHECK(only(b, silent).waiting_for == "the categorizer could not answer; it will be asked again");
    auto all = b.engine.unrouted(20);
    REQUIRE(all.size() == 2);
    CHECK(all[0].gate == Gate::categorizer);
    CHECK(all[0].deliveries == 3);
    CHECK(all[0].reason.text == table.text);
    CHECK(all[0].next_attempt > b.now().wall);
    CHECK(all[1].deliveries == 1);
    CHECK(all[1].waiting_for == "the categorizer could not answer; it will be asked again");
    const auto cut = b.engine.unrouted(1); // and what is not told apart, in one line
    REQUIRE(cut.size() == 2);
    CHECK(cut[1].deliveries == 1);
    CHECK(cut[1].waiting_for == "1 more such reason");
    b.engine.service(Service::categorizer, Presence::down, b.now(), b.out);
    CHECK(only(b, asked).waiting_for == "the categorizer is not running");
    CHECK(b.engine.unrouted(20).size() == 3);
}

TEST_CASE("a report that could not be made says why, and when it is tried again") {
    Bench b;
    b.reports_work = false;
    const auto id = b.send({"x.example"});
    b.answer(b.take(), Outcome::failed);
    b.pass(10s);
    const auto it = only(b, id);
    CHECK(it.waiting == Waiting::report);
    CHECK(it.waiting_for == "a report to its sender is pending, but could not be written: no room");
    CHECK(it.next_attempt > b.now().wall);
    CHECK(closed_gate(b, id, Gate::report).text == it.waiting_for);
    CHECK(closed_gate(b, id, Gate::report).until == it.next_attempt);
    const auto all = b.engine.unrouted(20);
    REQUIRE(all.size() == 1);
    CHECK(all[0].gate == Gate::report);
    CHECK(all[0].waiting_for == it.waiting_for);
    b.engine.service(Service::bounce, Presence::down, b.now(), b.out);
    CHECK(only(b, id).waiting_for == "a report to its sender is pending, but the bounce daemon is not running");
    CHECK(b.engine.unrouted(20).at(0).waiting_for == only(b, id).waiting_for);
}

TEST_CASE("what keeps due mail waiting is said of each message") {
    Bench b;
    b.engine.pause(Scope::queue, "p.example", b.now(), b.out);
    b.engine.pause(Scope::link, "x.example", b.now(), b.out);
    const auto first = b.send({"x.example"}), paused = b.send({"p.example"});
    CHECK(only(b, paused).paused_by == PausedObject{Scope::queue, "p.example"});
    CHECK(only(b, first).paused_by == PausedObject{Scope::link, "x.example"});
    b.engine.pause(Scope::everything, "", b.now(), b.out);
    b.run();
    CHECK(only(b, first).paused_by == PausedObject{});
    CHECK(b.engine.unrouted(20).empty());
    Bench without;
    without.engine.agent_gone(1, AgentExit::orderly, without.now(), without.out);
    without.run();
    CHECK(only(without, without.send({"x.example"})).waiting_for ==
          "its link: no delivery agent has a free connection");
}
