// The keys of [route] that replace those of [queue] for the domains of one route.
#include "tests/decide/queue/settings_bench.h"
#include <algorithm>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

Settings of_route(RouteSettings route) {
    return with([&](Settings& s) { s.routes["rule"] = std::move(route); });
}

// Seconds between messages of a route that has enough of them.
double pace(const RouteSettings& route) {
    Bench b(of_route(route));
    b.rule = "rule";
    for (int n = 0; n < 20; ++n) b.send({"x.example"});
    std::size_t done = 0;
    const auto served = [&] {
        for (; !b.handed.empty(); ++done) b.answer(b.take(), Outcome::delivered);
        return done >= 11;
    };
    return until(b, served, 10ms) / 10;
}

} // namespace

TEST_CASE("route: glitch_interval, glitch_count, retry_interval, retry_count, retry_interval_after") {
    const auto tries = [](const RouteSettings& route) { return tries_of_a_dead_link(of_route(route), 6, "rule"); };
    CHECK(tries({}) == Times{0, 60, 120, 720, 1320, 1920});
    CHECK(tries({.glitch_interval = 5s}) == Times{0, 5, 10, 610, 1210, 1810});
    CHECK(tries({.glitch_count = 4}) == Times{0, 60, 120, 180, 780, 1380});
    CHECK(tries({.retry_interval = 2min}) == Times{0, 60, 120, 240, 360, 480});
    CHECK(tries({.retry_count = 1}) == Times{0, 60, 120, 720, 1620, 2520});
    CHECK(tries({.retry_interval_after = 1h, .retry_count = 1}) == Times{0, 60, 120, 720, 4320, 7920});
}

TEST_CASE("route: failures_before_problem") {
    CHECK(failures_until_problem(of_route({.failures_before_problem = 4}), "rule") == 4);
    CHECK(failures_until_problem(of_route({.failures_before_problem = 4})) == 2); // another route
}

TEST_CASE("route: messages_per_second, messages_per_hour") {
    CHECK(pace({}) == 0);
    CHECK(pace({.messages_per_second = 2}) == doctest::Approx(0.5).epsilon(0.05));
    CHECK(pace({.messages_per_hour = 600}) == doctest::Approx(6).epsilon(0.05));
}

TEST_CASE("route: connections_per_second") {
    for (const auto& [rate, open] : {std::pair{0u, 50u}, {2u, 21u}}) {
        Bench b(of_route({.connections_per_second = rate}));
        b.rule = "rule";
        for (int n = 0; n < 300; ++n) b.send({"x.example"});
        b.pass(10s); // a tarpit
        CHECK(b.opened.size() == open);
    }
}

TEST_CASE("route: retry_policy") {
    for (const auto& [policy, wait] : {std::pair{"exchange", 60.0}, {"quick", 5.0}}) {
        Bench b(with([&, policy = policy](Settings& s) {
            s.routes["rule"] = {.retry_policy = policy};
            s.policies = {{.name = "quick", .kind = RetryPolicy::Kind::fixed, .interval = 5s, .jitter = 0}};
        }));
        b.rule = "rule";
        b.send({"x.example"});
        b.answer(b.take(), Outcome::deferred);
        CHECK(until(b, [&] { return !b.handed.empty(); }) == wait);
    }
}
