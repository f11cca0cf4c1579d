// Agents that come and go, services that are away, poison, and the operator's gates.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {
void leave(Bench& b, AgentId agent, AgentExit how) {
    std::erase_if(b.handed, [&](const Handed& each) { return each.agent == agent; });
    b.engine.agent_gone(agent, how, b.now(), b.out);
    b.run();
}
} // namespace

TEST_CASE("an agent that is stopped gives its mail back, untried and unsuspected") {
    Bench b;
    const auto id = b.send({"d.example"});
    leave(b, 1, AgentExit::orderly);
    CHECK(b.handed.empty());
    CHECK(b.deferrals.empty());
    b.engine.agent_attached(3, AgentKind::smtp, 1000, b.now(), b.out);
    b.run();
    CHECK(b.take().id == id);
    CHECK(b.take().agent == 3);
}

TEST_CASE("what was in flight when an agent crashed is tried alone; three deaths alone and it is held") {
    Bench b;
    b.engine.agent_attached(3, AgentKind::smtp, 1000, b.now(), b.out);
    const auto bad = b.send({"d.example"});
    AgentId next = 4;
    for (int death = 0; death < 3; ++death) {
        REQUIRE(!b.handed.empty());
        const AgentId victim = b.take().agent;
        CHECK(b.held.empty());
        leave(b, victim, AgentExit::crashed);
        b.engine.agent_attached(next++, AgentKind::smtp, 1000, b.now(), b.out);
        b.run();
    }
    CHECK(b.held == std::vector{bad});
    b.pass(24h);
    CHECK(b.handed.empty());
    CHECK(b.engine.message(bad, b.now())->held);
}

TEST_CASE("suspects are tried one by one while others go on by another agent") {
    Bench b;
    for (int n = 0; n < 3; ++n) b.send({"d" + std::to_string(n) + ".example"});
    CHECK(b.handed.size() == 3);
    b.engine.agent_attached(3, AgentKind::smtp, 1000, b.now(), b.out);
    leave(b, 1, AgentExit::crashed);
    b.engine.agent_attached(4, AgentKind::smtp, 1000, b.now(), b.out);
    b.run();
    REQUIRE(b.handed.size() == 1); // alone
    const AgentId alone = b.take().agent;
    const auto good = b.send({"good.example"});
    REQUIRE(b.handed.size() == 2);
    CHECK(b.handed[1].id == good);
    CHECK(b.handed[1].agent != alone);
    b.answer(b.handed[0], Outcome::delivered);
    CHECK(b.handed.size() == 2); // the next suspect
    b.answer(b.handed[1], Outcome::delivered);
    b.answer(b.handed[0], Outcome::delivered);
    b.pass(1s);
    while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed.size() == 4);
}

TEST_CASE("kills from outside never count towards poison") {
    Bench b;
    b.send({"d.example"});
    AgentId next = 3;
    for (int n = 0; n < 10; ++n) {
        leave(b, b.take().agent, AgentExit::orderly);
        b.engine.agent_attached(next++, AgentKind::smtp, 1000, b.now(), b.out);
        b.run();
    }
    CHECK(b.held.empty());
    CHECK(b.handed.size() == 1);
}

TEST_CASE("at most max_pending_categorizations are asked for; a categorizer that was away is asked again") {
    Settings s = Bench::exact();
    s.max_pending_categorizations = 3;
    Bench b(s);
    b.sorts = false;
    for (int n = 0; n < 5; ++n) b.send({"d.example"});
    CHECK(b.asked.size() == 3);
    b.engine.service(Service::categorizer, Presence::down, b.now(), b.out);
    b.sorts = true;
    b.engine.service(Service::categorizer, Presence::up, b.now(), b.out);
    b.run();
    CHECK(b.asked.size() == 8);
    CHECK(b.active.size() == 5);
}

TEST_CASE("a recipient that cannot be categorized now is asked for again, by doubling waits") {
    Bench b;
    b.sorts = false;
    const auto id = b.send({"d.example"});
    b.engine.categorization_failed(id, {}, b.now(), b.out);
    b.pass(60s);
    CHECK(b.asked.size() == 2);
    b.engine.categorization_failed(id, {}, b.now(), b.out);
    b.pass(119s);
    CHECK(b.asked.size() == 2);
    b.pass(1s);
    CHECK(b.asked.size() == 3);
}

TEST_CASE("fates: discarded and unknown recipients are accounted for, deferred ones wait") {
    Bench b;
    b.sorts = false;
    const auto id = b.send({"a", "b", "c", "d.example"});
    const FinalRecipient fates[] = {{0, Fate::discard, "", 0, nullptr},
                                    {1, Fate::failed, "", 0, &b.reason},
                                    {2, Fate::unknown, "", 0, &b.reason},
                                    {3, Fate::remote, "d.example", 0, nullptr}};
    b.engine.categorized({id, fates}, b.now(), b.out);
    b.run();
    CHECK(b.outcomes[0].finish == Finish::discarded);
    CHECK(b.take().numbers == std::vector<RecipientNumber>{3});
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.reports.size() == 1);
    // Why it waits is seen wherever one looks.
    const auto info = b.engine.message(id, b.now());
    REQUIRE(info);
    REQUIRE(info->deliveries.size() == 1);
    CHECK(info->deliveries[0].recipients == std::vector<RecipientNumber>{2});
    CHECK(info->deliveries[0].reason == b.reason);
    const auto why = b.engine.explain(id);
    REQUIRE(why.size() == 1);
    const auto gate = std::ranges::find(why[0].gates, Gate::categorizer, &GateInfo::gate);
    REQUIRE(gate != why[0].gates.end());
    CHECK_FALSE(gate->open);
    CHECK(gate->reason == b.reason);
    b.sorts = true;
    b.recipients[id.value][2] = "c.example";
    b.pass(60s);
    CHECK(b.take().numbers == std::vector<RecipientNumber>{2});
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("a message of which nothing can be tried is announced as others are, once") {
    Bench b;
    b.sorts = false;
    const auto id = b.send({"a", "b"});
    const FinalRecipient fates[] = {{0, Fate::unknown, "", 0, &b.reason}, {1, Fate::failed, "", 0, &b.reason}};
    b.engine.categorized({id, fates}, b.now(), b.out);
    b.run();
    CHECK(b.active == std::vector{id});
    b.pass(60s);
    const FinalRecipient last[] = {{0, Fate::failed, "", 0, &b.reason}};
    b.engine.categorized({id, last}, b.now(), b.out);
    b.run();
    CHECK(b.active == std::vector{id});
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("different reverse-paths never share a transaction") {
    Bench b;
    b.sorts = false;
    const auto id = b.send({"list"});
    const FinalRecipient finals[] = {{1, Fate::remote, "d.example", 0, nullptr},
                                     {2, Fate::remote, "d.example", 1, nullptr}};
    b.engine.categorized({id, finals}, b.now(), b.out);
    b.run();
    b.answer(b.take(), Outcome::delivered);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("pauses: of everything, a link, a queue; persistent names; nothing counts against the mail") {
    Bench b;
    for (const auto& [scope, name] :
         {std::pair{Scope::everything, ""}, {Scope::link, "d.example"}, {Scope::queue, "d.example"}}) {
        CAPTURE(name);
        CHECK(b.engine.pause(scope, name, b.now(), b.out));
        CHECK_FALSE(b.engine.pause(scope, name, b.now(), b.out));
        b.send({"d.example"});
        b.pass(1h);
        CHECK(b.handed.empty());
        CHECK(b.engine.resume(scope, name, b.now(), b.out));
        CHECK_FALSE(b.engine.resume(scope, name, b.now(), b.out));
        b.run();
        REQUIRE(b.handed.size() == 1);
        b.answer(b.take(), Outcome::delivered);
    }
    CHECK(b.deferrals.empty());
}

TEST_CASE("force: now, whatever the ladder says") {
    Bench b;
    b.connects = false;
    const auto id = b.send({"d.example"});
    b.refuse(b.opened.front());
    CHECK(b.opened.empty());
    CHECK(b.engine.force(Scope::link, "d.example", b.now(), b.out));
    b.run();
    REQUIRE(b.opened.size() == 1);
    b.up(b.opened.front());
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    CHECK(b.handed.empty());
    CHECK(b.engine.force(id, b.now(), b.out));
    b.run();
    CHECK(b.handed.size() == 1);
    CHECK_FALSE(b.engine.force(Scope::queue, "nowhere.example", b.now(), b.out));
}

TEST_CASE("forgotten: gone from everywhere, late answers are harmless") {
    Bench b;
    const auto id = b.send({"d.example"});
    const Handed h = b.take();
    CHECK(b.engine.forget(id, b.now(), b.out));
    b.answer(h, Outcome::delivered);
    CHECK(b.engine.counts().messages == 0);
    CHECK(b.engine.counts().deliveries == 0);
    b.pass(1h);
    CHECK_FALSE(b.engine.forget(id, b.now(), b.out));
}

TEST_CASE("what each delivery waits for can be seen") {
    Bench b;
    auto waits = [&](spool::QueueId id) { return b.engine.message(id, b.now())->deliveries.at(0).waiting; };
    const auto id = b.send({"d.example"});
    CHECK(waits(id) == Waiting::active);
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    CHECK(waits(id) == Waiting::own_time);
    b.connects = false;
    const auto down = b.send({"down.example"});
    while (!b.opened.empty() && b.link("down.example").health == Health::ready) b.refuse(b.opened.back());
    CHECK(waits(down) == Waiting::link);
    CHECK(b.engine.message(down, b.now())->deliveries[0].reason == b.reason);
    CHECK(b.engine.message(down, b.now())->deliveries[0].next_attempt == b.now().wall + 60s);
    std::uint32_t cursor = 0;
    int seen = 0;
    while (b.engine.next_message(cursor, b.now())) ++seen;
    CHECK(seen == 2);
    CHECK(cursor == 0);
}

TEST_CASE("a suspect waits for its link's rate as all mail does") {
    Settings s = Bench::exact();
    s.routes["slow"].messages_per_hour = 60;
    Bench b(s);
    b.rule = "slow";
    b.engine.agent_attached(3, AgentKind::smtp, 10, b.now(), b.out);
    const auto id = b.send({"d.example"});
    const auto agent = b.take().agent;
    b.handed.clear();
    b.engine.agent_gone(agent, AgentExit::crashed, b.now(), b.out);
    b.run();
    b.pass(59s);
    CHECK(b.handed.empty());
    b.pass(1s);
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().id == id);
}

TEST_CASE("a suspect does not go on at a host that pushes back") {
    Bench b;
    b.engine.agent_attached(3, AgentKind::smtp, 10, b.now(), b.out);
    b.send({"d.example"});
    const auto suspect = b.send({"d.example"});
    b.pass(1s);
    REQUIRE(b.handed.size() == 2);
    const auto agent = b.handed[1].agent;
    REQUIRE(b.handed[0].agent != agent);
    b.answer(b.take(), Outcome::delivered); // its connection stays up: the host takes mail
    b.handed.clear();
    b.connects = false;
    b.engine.agent_gone(agent, AgentExit::crashed, b.now(), b.out);
    b.run();
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().id == suspect);
    const auto tries = b.tries.size();
    b.refuse(b.opened.back(), PushBack::yes);
    b.pass(900ms);
    CHECK(b.tries.size() == tries);
    b.pass(200ms);
    CHECK(b.tries.size() == tries + 1);
}
