// Links down and up, what routes say of retries and rates, and what a clean stop keeps.
#include "tests/decide/queue/bench.h"
#include <algorithm>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// Refuses every connection for so long.
void nobody_answers(Bench& b, smtp::Duration during) {
    const auto until = b.time + during;
    while (b.time < until) {
        while (!b.opened.empty()) b.refuse(b.opened.front());
        b.pass(std::min(smtp::Duration(1s), until - b.time));
    }
    while (!b.opened.empty()) b.refuse(b.opened.front());
}

// x.example goes by "first", or by "second" while that is down.
struct Two : Bench {
    explicit Two(Settings s = exact()) : Bench(s) {
        link_of["x.example"] = "first";
        connects = false;
        on_link_state = [this](const std::string& link, bool down) {
            if (link == "first") link_of["x.example"] = down ? "second" : "first";
        };
    }
};

Settings with(RouteSettings route, std::vector<RetryPolicy> policies = {}) {
    Settings s = Bench::exact();
    s.routes["rule"] = route;
    s.policies = std::move(policies);
    return s;
}

std::vector<double> tries_of(Bench& b, std::size_t count) {
    std::vector<double> out;
    while (out.size() < count && b.seconds() < 1e6) {
        while (!b.handed.empty()) {
            out.push_back(b.seconds());
            b.answer(b.take(), Outcome::deferred);
        }
        b.pass(1s);
    }
    return out;
}

} // namespace

TEST_CASE("a configured link in retry for link_down_after is down; its mail moves at once, counted and timed") {
    Two b;
    b.send({"x.example"});
    nobody_answers(b, 6min); // in retry since the third failure at 2 min
    CHECK(b.link_states.empty());
    nobody_answers(b, 2min);
    CHECK(b.link_states == std::vector{std::pair(std::string("first"), true)});
    CHECK(b.link("first").down);
    REQUIRE(b.resets.size() == 1);
    CHECK(b.resets[0].moved == 1);
    CHECK(b.queue("x.example").link == "second");
}

TEST_CASE("link_down_after is a setting") {
    Settings s = Bench::exact();
    s.link_down_after = 1min;
    Two b(s);
    b.send({"x.example"});
    nobody_answers(b, 4min);
    CHECK(b.link("first").down);
}

TEST_CASE("a link whose mail waits for it is never down") {
    Settings s = Bench::exact();
    s.link_down_after = Settings::never;
    Two b(s);
    b.send({"x.example"});
    nobody_answers(b, 24h);
    CHECK_FALSE(b.link("first").down);
    CHECK(b.link_states.empty());
}

TEST_CASE("an MX link is never down") {
    Two b;
    b.route_kind["x.example"] = RouteKind::mx;
    b.send({"x.example"});
    nobody_answers(b, 3h);
    CHECK(b.link_states.empty());
}

TEST_CASE("a link that is down is probed without mail; two good probes link_up_after apart bring it back") {
    Two b;
    b.send({"x.example"});
    nobody_answers(b, 8min);
    b.connects = true;
    for (auto& h : std::vector(b.handed)) b.answer(h, Outcome::delivered);
    b.pass(1min);
    for (auto& h : std::vector(b.handed)) b.answer(h, Outcome::delivered); // went by the second
    b.tries.clear();
    while (b.link("first").down && b.seconds() < 3600) b.pass(1s);
    CHECK_FALSE(b.link("first").down);
    REQUIRE(b.tries.size() == 2);
    CHECK(b.tries[1] - b.tries[0] == doctest::Approx(300).epsilon(0.01));
    CHECK(b.handed.empty()); // no mail was used
    CHECK(b.link_states.back() == std::pair(std::string("first"), false));
    b.send({"x.example"});
    CHECK(b.queue("x.example").link == "first");
}

TEST_CASE("where no other way is up, mail waits on the preferred link, and its success brings that back") {
    Bench b;
    b.connects = false;
    b.link_of["x.example"] = "only";
    b.send({"x.example"});
    nobody_answers(b, 8min);
    CHECK(b.link("only").down);
    b.connects = true;
    for (auto id : std::vector(b.opened)) b.up(id);
    b.pass(15min);
    REQUIRE(b.handed.size() == 1);
    b.answer(b.take(), Outcome::delivered);
    CHECK_FALSE(b.link("only").down);
}

TEST_CASE("routes are reset at most once a minute, and again after reroute_retry when one was not found") {
    Settings s = Bench::exact();
    s.reset_routes_retry = 10min;
    Two b(s);
    b.send({"x.example"});
    nobody_answers(b, 6min);
    b.route_kind["x.example"] = RouteKind::temporary;
    nobody_answers(b, 2min);
    REQUIRE(b.resets.size() == 1);
    b.route_kind.clear();
    b.pass(8min);
    CHECK(b.resets.size() == 1);
    b.pass(3min);
    CHECK(b.resets.size() == 2);
}

TEST_CASE("a new router is told what is down") {
    Two b;
    b.send({"x.example"});
    nobody_answers(b, 8min);
    b.link_states.clear();
    b.engine.service(Service::router, Presence::down, b.now(), b.out);
    b.engine.service(Service::router, Presence::up, b.now(), b.out);
    b.run();
    CHECK(b.link_states == std::vector{std::pair(std::string("first"), true)});
}

TEST_CASE("a link's ladder and its being down survive a clean restart") {
    Two b;
    b.send({"x.example"});
    nobody_answers(b, 8min);
    const auto kept = b.engine.health_snapshot();
    Two later;
    later.engine.restore(kept, later.now(), later.out);
    later.run();
    CHECK(later.link_states == std::vector{std::pair(std::string("first"), true)});
    CHECK(later.link("first").failures == b.link("first").failures);
    CHECK(later.link("first").last_error.text == "because");
    later.send({"x.example"});
    CHECK(later.queue("x.example").link == "second");
}

TEST_CASE("each number of the ladder, per route") {
    RouteSettings r;
    SUBCASE("glitch_interval") { r.glitch_interval = 7s; }
    SUBCASE("glitch_count") { r.glitch_count = 1; }
    SUBCASE("retry_interval") { r.retry_interval = 20s; }
    SUBCASE("retry_count") { r.retry_count = 1; }
    SUBCASE("retry_interval_after") { r.retry_interval_after = 25s; }
    Bench plain, ruled(with(r));
    ruled.rule = "rule";
    for (Bench* b : {&plain, &ruled}) b->send({"x.example"});
    CHECK(tries_of(plain, 8) != tries_of(ruled, 8));
}

TEST_CASE("failures_before_problem per route") {
    Bench b(with({.failures_before_problem = 1}));
    b.rule = "rule";
    b.send({"x.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.deferrals.back().problem);
}

TEST_CASE("policies: fixed, exponential, steps; out of tries the sender is told") {
    using Kind = RetryPolicy::Kind;
    RetryPolicy p{.name = "quick", .jitter = 0};
    std::vector<double> expected;
    SUBCASE("fixed") {
        p.kind = Kind::fixed;
        p.interval = 30s;
        p.attempts = 4;
        expected = {0, 30, 60, 90};
    }
    SUBCASE("exponential") {
        p.kind = Kind::exponential;
        p.base = 5s;
        p.factor = 3;
        p.attempts = 4;
        expected = {0, 5, 20, 65};
    }
    SUBCASE("steps") {
        p.kind = Kind::steps;
        p.waits = {10s, 20s, 40s};
        expected = {0, 10, 30, 70};
    }
    Bench b(with({.retry_policy = "quick"}, {p}));
    b.rule = "rule";
    const auto id = b.send({"x.example"});
    CHECK(tries_of(b, 4) == expected);
    b.pass(10s);
    REQUIRE(b.reports.size() == 1);
    CHECK(b.removed == std::vector{id});
    CHECK(b.policies == std::vector<std::string>{"quick"}); // recorded once
}

TEST_CASE("policies: the message's own comes before its route's; a link's failure counts for it") {
    using Kind = RetryPolicy::Kind;
    RetryPolicy twice{.name = "twice", .kind = Kind::fixed, .interval = 10s, .jitter = 0, .attempts = 2};
    RetryPolicy long_one{.name = "long", .kind = Kind::fixed, .interval = 1h, .jitter = 0, .attempts = 0};
    Bench b(with({.retry_policy = "long"}, {twice, long_one}));
    b.rule = "rule";
    b.connects = false;
    const auto id = b.send({"x.example"}, {.retry_policy = "twice"});
    nobody_answers(b, 5min);
    CHECK(b.tries.size() == 1); // the second falls into the link's rest, and counts
    CHECK(b.removed == std::vector{id});
    CHECK(b.policies == std::vector<std::string>{"twice"}); // it was known by name only
}

TEST_CASE("rates: messages a second, messages an hour, connections a second") {
    SUBCASE("messages a second") {
        Bench b(with({.messages_per_second = 2}));
        b.rule = "rule";
        for (int n = 0; n < 5; ++n) b.send({"x.example"});
        CHECK(b.handed.size() == 1);
        const auto waits = b.engine.explain(spool::QueueId{b.last_id}).front();
        CHECK(std::ranges::count_if(waits.gates, [](auto& g) { return g.gate == Gate::rate && !g.open; }) == 1);
        b.pass(1s);
        CHECK(b.handed.size() == 3);
        b.pass(1s);
        CHECK(b.handed.size() == 5);
    }
    SUBCASE("messages an hour") {
        Bench b(with({.messages_per_hour = 60}));
        b.rule = "rule";
        for (int n = 0; n < 3; ++n) b.send({"x.example"});
        b.pass(59s);
        CHECK(b.handed.size() == 1);
        b.pass(2s);
        CHECK(b.handed.size() == 2);
    }
    SUBCASE("connections a second") {
        Bench b(with({.connections_per_second = 1}));
        b.rule = "rule";
        b.connects = false;
        for (int n = 0; n < 5; ++n) b.send({"x.example"});
        CHECK(b.opened.size() == 1);
        b.pass(2s);
        CHECK(b.opened.size() <= 3);
        CHECK(b.opened.size() >= 2);
    }
}

TEST_CASE("overdue mail is spread at start, the first at once") {
    Bench b;
    b.sorts = false;
    for (int n = 0; n < 2000; ++n) {
        const RestoredRecipient restored{.number = 0, .failures = 2, .next_attempt = b.now().wall - 1h};
        b.send({"x.example"}, {.restored = std::span(&restored, 1)});
    }
    CHECK(b.asked.size() >= 1);
    CHECK(b.asked.size() < 500);
    b.pass(3s);
    CHECK(b.engine.counts().waiting == 0);
    Settings s = Bench::exact();
    s.overdue_spread = 0s;
    Bench together(s);
    together.sorts = false;
    for (int n = 0; n < 100; ++n) {
        const RestoredRecipient restored{.number = 0, .failures = 2, .next_attempt = together.now().wall - 1h};
        together.send({"x.example"}, {.restored = std::span(&restored, 1)});
    }
    CHECK(together.asked.size() == 100);
}
