// The engine with rates that all nodes of a fleet share: one engine that is told what the store says, and three engines
// with a model of the store between them.
#include "daemons/decide/queue/tables/fleet_rates.h"
#include "tests/decide/queue/bench.h"
#include "tests/decide/queue/rates/model_store.h"
#include <memory>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

Settings shared(RouteSettings route) {
    Settings s = Bench::exact();
    s.in_fleet = true;
    s.routes["rule"] = std::move(route);
    s.routes["rule"].share_rates = true;
    return s;
}

void tell(Bench& b, const FleetPresence& presence) {
    b.engine.fleet_changed(presence, b.now(), b.out);
    b.run();
}

void grant(Bench& b, std::uint64_t number, std::uint32_t count, smtp::Duration delay = {}, smtp::Duration wait = {}) {
    b.engine.tokens_granted({{.number = number, .known = true, .count = count, .wait = wait, .delay = delay}}, b.now(),
                            b.out);
    b.run();
}

std::size_t deliver_all(Bench& b) {
    std::size_t done = 0;
    for (; !b.handed.empty(); ++done) b.answer(b.take(), Outcome::delivered);
    return done;
}

GateInfo rate_gate(Bench& b, spool::QueueId id) {
    const auto all = b.engine.explain(id);
    for (const auto& each : all.at(0).gates)
        if (each.gate == Gate::rate) return each;
    return {};
}

// Engines whose questions a model of the store answers, a little later.
class Fleet {
public:
    Fleet(std::size_t count, const RouteSettings& route, smtp::Duration latency) : latency_(latency) {
        for (std::size_t n = 0; n < count; ++n) {
            nodes.push_back(std::make_unique<Bench>(shared(route), n + 1));
            nodes.back()->rule = "rule";
            tell(*nodes.back(), {.store = true, .nodes = static_cast<std::uint32_t>(count)});
        }
    }
    void load(std::size_t n, int messages) {
        for (; messages > 0; --messages) nodes[n]->send({"x.example"});
    }
    // In steps of a millisecond; says how many were delivered.
    std::size_t pass(smtp::Duration by) {
        std::size_t done = 0;
        for (smtp::Duration passed{}; passed < by; passed += 1ms)
            for (std::size_t n = 0; n < nodes.size(); ++n) {
                Bench& b = *nodes[n];
                b.pass(1ms);
                if (serves) done += deliver_all(b);
                for (const auto& each : std::exchange(b.tokens, {})) {
                    if (!answers) continue;
                    auto answer =
                        store.grant(std::to_string(static_cast<int>(each.rate)) + each.link,
                                    {each.number, each.gap, each.count}, b.now().monotonic.time_since_epoch().count());
                    due_.push_back({b.now().monotonic + latency_, n, answer});
                }
                std::erase_if(due_, [&](const Due& each) {
                    if (each.node != n || each.at > b.now().monotonic) return false;
                    b.engine.tokens_granted({each.answer}, b.now(), b.out);
                    b.run();
                    if (serves) done += deliver_all(b);
                    return true;
                });
            }
        return done;
    }

    std::vector<std::unique_ptr<Bench>> nodes;
    ModelStore store;
    bool answers = true; // the store does
    bool serves = true;  // the servers do

private:
    struct Due {
        smtp::Monotonic at{};
        std::size_t node = 0;
        RateLease::Answer answer;
    };
    smtp::Duration latency_;
    std::vector<Due> due_;
};

} // namespace

TEST_CASE("a shared message rate: tokens are asked for, and used when they are good") {
    Bench b(shared({.messages_per_second = 50}));
    b.rule = "rule";
    tell(b, {.store = true, .nodes = 3});
    const auto id = b.send({"x.example"});
    for (int n = 0; n < 99; ++n) b.send({"x.example"});
    REQUIRE(b.tokens.size() == 1);
    CHECK(b.handed.empty());
    const auto asked = b.tokens[0];
    CHECK(asked.link == "x.example");
    CHECK(asked.rate == SharedRate::messages);
    CHECK(asked.gap == 20ms);
    CHECK(rate_gate(b, id).text == "the rate limit that all nodes of the fleet share is reached for now");
    CHECK(rate_gate(b, id).reason.text == "route.\"rule\".messages_per_second, messages_per_hour, share_rates");
    CHECK(b.link("x.example").idle_reason == "the rate limit that all nodes of the fleet share is reached for now");
    grant(b, asked.number + 1, asked.count); // of another question
    CHECK(b.handed.empty());
    CHECK(asked.count == 1); // there was no more mail then
    grant(b, asked.number, asked.count, 500ms);
    CHECK(b.handed.empty());
    b.pass(450ms);
    CHECK(b.handed.empty());
    REQUIRE(b.tokens.size() == 2); // ahead of time
    CHECK(b.tokens[1].count > 1);
    grant(b, b.tokens[1].number, b.tokens[1].count, 70ms);
    b.pass(50ms);
    CHECK(deliver_all(b) == 1);
    b.pass(19ms);
    CHECK(b.handed.empty());
    b.pass(1ms);
    CHECK(deliver_all(b) == 1);
}

TEST_CASE("without a fleet the rate is this node's own, and nothing is asked") {
    Settings s = shared({.messages_per_second = 50});
    s.in_fleet = false;
    Bench b(s);
    b.rule = "rule";
    for (int n = 0; n < 100; ++n) b.send({"x.example"});
    std::size_t done = deliver_all(b);
    for (int n = 0; n < 100; ++n) {
        b.pass(10ms);
        done += deliver_all(b);
    }
    CHECK(done >= 49);
    CHECK(done <= 52);
    CHECK(b.tokens.empty());
}

TEST_CASE("the store is away: explain says which part of the rate this node has") {
    Bench b(shared({.messages_per_second = 1}));
    b.rule = "rule";
    tell(b, {.store = false, .nodes = 3});
    b.send({"x.example"});
    const auto id = b.send({"x.example"});
    CHECK(deliver_all(b) == 1);
    CHECK(rate_gate(b, id).text ==
          "this node's part of the rate limit that all nodes of the fleet share, 1/3, is reached for now");
    b.pass(2900ms);
    CHECK(b.handed.empty());
    b.pass(100ms);
    CHECK(b.handed.size() == 1);
}

TEST_CASE("at the start, mail for a shared rate waits until the fleet is known, but not for long") {
    Settings s = shared({.messages_per_second = 10});
    s.expected_nodes = 2;
    Bench b(s);
    b.rule = "rule";
    for (int n = 0; n < 100; ++n) b.send({"x.example"});
    b.pass(4s);
    CHECK(b.handed.empty());
    CHECK(b.tokens.empty());
    std::size_t done = 0;
    for (int n = 0; n < 1100; ++n) {
        b.pass(10ms);
        done += deliver_all(b);
    }
    CHECK(done >= 48);
    CHECK(done <= 52);
}

TEST_CASE("a link that fails asks for no tokens") {
    Bench b(shared({.messages_per_second = 10}));
    b.rule = "rule";
    b.connects = false;
    tell(b, {.store = true, .nodes = 2});
    for (int n = 0; n < 20; ++n) b.send({"x.example"});
    REQUIRE(b.tokens.size() == 1);
    grant(b, b.tokens[0].number, 1);
    REQUIRE(b.opened.size() == 1);
    b.refuse(b.opened[0]);
    b.tokens.clear();
    b.pass(50s);
    CHECK(b.tokens.empty());
    b.pass(11s);
    CHECK(b.tokens.size() >= 1);
}

TEST_CASE("a route that no longer shares its rate, by a reload") {
    Settings s = shared({.messages_per_second = 10});
    Bench b(s);
    b.rule = "rule";
    tell(b, {.store = true, .nodes = 2});
    for (int n = 0; n < 20; ++n) b.send({"x.example"});
    CHECK(b.handed.empty());
    s.routes["rule"].share_rates = false;
    b.engine.configure(s, b.now(), b.out);
    b.run();
    CHECK(b.handed.size() == 1);
    grant(b, b.tokens.at(0).number, 4); // too late
    CHECK(b.handed.size() == 1);
}

TEST_CASE("two routes of one link, of which one shares its rate: both hold") {
    Settings s = shared({.messages_per_second = 50});
    s.routes["own"].messages_per_second = 10;
    Bench b(s);
    b.rule_of = {{"x.example", "rule"}, {"y.example", "own"}};
    b.link_of = {{"x.example", "one"}, {"y.example", "one"}};
    tell(b, {.store = true, .nodes = 2});
    b.send({"y.example"});
    for (int n = 0; n < 40; ++n) b.send({"x.example"});
    std::size_t done = 0;
    for (int n = 0; n < 200; ++n) {
        for (const auto& each : std::exchange(b.tokens, {})) grant(b, each.number, each.count);
        done += deliver_all(b);
        b.pass(5ms);
    }
    CHECK(done >= 9);
    CHECK(done <= 12);
}

TEST_CASE("answers for links that are not there do no harm") {
    Bench b(shared({.messages_per_second = 10}));
    for (const std::uint64_t number : {0UL, 1UL, 77UL, ~0UL}) grant(b, number, 5);
    b.send({"x.example"});
    for (const std::uint64_t number : {0UL, 1UL, 2UL, 3UL, 77UL, ~0UL}) grant(b, number, 5);
}

TEST_CASE("three engines keep one rate together") {
    for (const auto latency : {1ms, 30ms, 200ms}) {
        Fleet fleet(3, {.messages_per_second = 50}, latency);
        fleet.load(0, 4000);
        fleet.pass(3s);
        std::size_t done = 0;
        for (int n = 0; n < 60; ++n) {
            fleet.load(1, 10);
            if (n % 5 == 0) fleet.load(2, 3);
            done += fleet.pass(1s);
        }
        CAPTURE(latency.count());
        CHECK(done >= 2850);
        CHECK(done <= 3150);
        CHECK(fleet.nodes[1]->engine.counts().messages <= 15);
        CHECK(fleet.nodes[2]->engine.counts().messages <= 3);
        CHECK(fleet.store.calls <= 600);
    }
}

TEST_CASE("three engines, and a store that goes away and comes back empty") {
    Fleet fleet(3, {.messages_per_second = 50}, 5ms);
    for (std::size_t n = 0; n < 3; ++n) fleet.load(n, 3000);
    fleet.pass(5s);
    fleet.answers = false;
    auto done = fleet.pass(2s);
    for (auto& each : fleet.nodes) tell(*each, {.store = false, .nodes = 3});
    done += fleet.pass(20s);
    fleet.answers = true;
    fleet.store.lose_everything();
    tell(*fleet.nodes[0], {.store = true, .nodes = 3, .missing = 2});
    done += fleet.pass(10s);
    tell(*fleet.nodes[0], {.store = true, .nodes = 3, .missing = 1});
    tell(*fleet.nodes[1], {.store = true, .nodes = 3, .missing = 1});
    done += fleet.pass(10s);
    for (auto& each : fleet.nodes) tell(*each, {.store = true, .nodes = 3});
    done += fleet.pass(18s);
    CHECK(done >= 54 * 50);       // it was noticed after two seconds
    CHECK(done <= 60 * 50 + 100); // the limit, and one batch each time
}

TEST_CASE("three engines keep one rate of connections together") {
    Fleet fleet(3, {.connections_per_second = 10}, 5ms);
    fleet.serves = false; // a tarpit
    fleet.load(0, 400);
    fleet.load(1, 200);
    fleet.load(2, 3);
    const auto opened = [&] {
        std::size_t sum = 0;
        for (auto& each : fleet.nodes) sum += each->opened.size();
        return sum;
    };
    fleet.pass(1s);
    const auto before = opened();
    fleet.pass(8s);
    CHECK(opened() - before >= 60);
    CHECK(opened() - before <= 92);
}

TEST_CASE("a suspect takes no tokens while it waits for an agent to itself") {
    Bench b(shared({.messages_per_hour = 60}));
    b.rule_of = {{"bad.example", "rule"}};
    tell(b, {.store = true, .nodes = 2});
    const auto id = b.send({"bad.example"});
    REQUIRE(b.tokens.size() == 1);
    grant(b, b.tokens[0].number, 1);
    REQUIRE(b.handed.size() == 1);
    const auto agent = b.take().agent;
    b.handed.clear();
    b.tokens.clear();
    b.engine.agent_attached(3, AgentKind::smtp, 10, b.now(), b.out);
    b.run();
    for (int n = 0; n < 3; ++n) b.send({"d" + std::to_string(n) + ".example"}); // they keep agent 3 busy
    b.engine.agent_gone(agent, AgentExit::crashed, b.now(), b.out);
    b.run();
    std::erase_if(b.handed, [](const Handed& each) { return each.agent != 3; });
    if (b.handed.empty()) b.send({"e.example"});
    REQUIRE_FALSE(b.handed.empty());
    b.pass(50s);
    CHECK(b.tokens.empty());
    CHECK(rate_gate(b, id).open); // the rate is not what it waits for
    while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
    b.pass(61s);
    CHECK_FALSE(b.tokens.empty()); // the agent is free now
}

TEST_CASE("a link without a place for a connection takes no tokens, and explain does not blame the rate") {
    Settings s = shared({.messages_per_second = 10});
    s.connections_total = 1;
    Bench b(s);
    b.rule_of = {{"x.example", "rule"}};
    tell(b, {.store = true, .nodes = 2});
    b.send({"other.example"});
    REQUIRE(b.handed.size() == 1);
    const auto id = b.send({"x.example"});
    b.pass(30s);
    CHECK(b.tokens.empty());
    CHECK(rate_gate(b, id).open);
    CHECK(b.link("x.example").idle_reason == "other links use all of queue.connections_total");
}

TEST_CASE("the store is away: a link that no queue uses for a while keeps its part of the rate") {
    Bench b(shared({.messages_per_hour = 1}));
    b.rule = "rule";
    tell(b, {.store = false, .nodes = 3});
    b.send({"x.example"});
    CHECK(deliver_all(b) == 1);
    b.pass(1h);
    b.send({"x.example"});
    CHECK(b.handed.empty());
    b.pass(2h - 1s);
    CHECK(b.handed.empty());
    b.pass(1s);
    CHECK(b.handed.size() == 1);
}

TEST_CASE("of many links the first 1000 are followed; others are when one of these is forgotten") {
    Settings s = shared({.messages_per_second = 10});
    Bench b(s);
    b.rule = "rule";
    tell(b, {.store = true, .nodes = 2});
    for (std::size_t n = 0; n < FleetRates::most_followed; ++n) b.send({"d" + std::to_string(n) + ".example"});
    CHECK(b.tokens.size() == FleetRates::most_followed);
    b.send({"last.example"});
    CHECK(b.tokens.size() == FleetRates::most_followed);
    CHECK(deliver_all(b) == 1);
    for (const auto& each : std::exchange(b.tokens, {})) grant(b, each.number, each.count);
    CHECK(deliver_all(b) == FleetRates::most_followed);
    b.pass(2h);
    b.tokens.clear();
    b.send({"last.example"});
    CHECK(b.tokens.size() == 1);
}

TEST_CASE("at the start explain says that the nodes are not known yet") {
    Bench b(shared({.messages_per_second = 10}));
    b.rule = "rule";
    const auto id = b.send({"x.example"});
    CHECK(rate_gate(b, id).text ==
          "which nodes share the rate limit is not known yet, for a few seconds after the start");
    tell(b, {.store = true, .nodes = 2});
}
