// Every number the queue works by changes what it does: for each key of [queue], what is seen with one value and with
// another. Here retries, lookups, reports and times; connections are in connection_settings_test.cpp, the keys of
// [route] in route_settings_test.cpp. Keys of the queue manager itself are in tests/system/test_queue_settings.py,
// which also knows when a key has no test at all.
#include "tests/decide/queue/settings_bench.h"
#include <algorithm>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// Seconds until a failed delivery is tried again.
double wait_after(const Settings& s, const std::string& domain) {
    Bench b(s);
    b.send({domain});
    b.answer(b.take(), Outcome::deferred);
    return until(b, [&] { return !b.handed.empty(); });
}

// Deliveries that go over before the message in question, of those that wait for a slow host.
int before(Bench& b, spool::QueueId id) {
    int count = 0;
    for (; b.take().id != id; ++count) b.answer(b.take(), Outcome::delivered);
    return count;
}

} // namespace

// ---- the ladder: failures at 0, 60, 120 s; then waits of 10, 10, 10, 15, 15 … min ----

TEST_CASE("queue.glitch_interval: the first waits") {
    CHECK(tries_of_a_dead_link(Bench::exact(), 4) == Times{0, 60, 120, 720});
    CHECK(tries_of_a_dead_link(with([](Settings& s) { s.glitch_interval = 7s; }), 4) == Times{0, 7, 14, 614});
}

TEST_CASE("queue.glitch_count: failures that are a glitch") {
    CHECK(tries_of_a_dead_link(with([](Settings& s) { s.glitch_count = 2; }), 3) == Times{0, 60, 660});
    CHECK(tries_of_a_dead_link(with([](Settings& s) { s.glitch_count = 4; }), 4) == Times{0, 60, 120, 180});
}

TEST_CASE("queue.retry_interval: the waits after that") {
    CHECK(tries_of_a_dead_link(with([](Settings& s) { s.retry_interval = 3min; }), 5) == Times{0, 60, 120, 300, 480});
}

TEST_CASE("queue.retry_count: so many of those") {
    CHECK(tries_of_a_dead_link(Bench::exact(), 7) == Times{0, 60, 120, 720, 1320, 1920, 2820});
    CHECK(tries_of_a_dead_link(with([](Settings& s) { s.retry_count = 1; }), 5) == Times{0, 60, 120, 720, 1620});
}

TEST_CASE("queue.retry_interval_after: all further waits") {
    CHECK(tries_of_a_dead_link(with([](Settings& s) { s.retry_interval_after = 20min; }), 7) ==
          Times{0, 60, 120, 720, 1320, 1920, 3120});
}

TEST_CASE("queue.jitter: waits grow by up to that fraction, and never shrink") {
    const auto tries = tries_of_a_dead_link(with([](Settings& s) { s.jitter = 0.5; }), 4);
    CHECK(tries[1] > 60);
    CHECK(tries[1] <= 91);
    CHECK(tries != tries_of_a_dead_link(with([](Settings& s) { s.jitter = 0.4; }), 4));
}

TEST_CASE("queue.failures_before_problem: failures until a message lets others pass; 0: never") {
    CHECK(failures_until_problem(Bench::exact()) == 2);
    CHECK(failures_until_problem(with([](Settings& s) { s.failures_before_problem = 3; })) == 3);
    CHECK(failures_until_problem(with([](Settings& s) { s.failures_before_problem = 0; })) == 0);
}

TEST_CASE("queue.problem_share: one delivery in so many is a problem message") {
    for (const auto& [share, good] : {std::pair{20u, 19}, {5u, 4}}) {
        Bench b(with([&, share = share](Settings& s) { s.problem_share = share; }));
        const auto bad = b.send({"x.example"});
        for (int tries = 0; tries < 3; ++tries) {
            b.answer(b.take(), Outcome::deferred, FailureKind::message);
            if (tries < 2) b.pass(60s);
        }
        b.engine.pause(Scope::queue, "x.example", b.now(), b.out);
        b.pass(601s);
        for (int n = 0; n < 60; ++n) b.send({"x.example"});
        b.engine.resume(Scope::queue, "x.example", b.now(), b.out);
        b.run();
        CHECK(before(b, bad) == good);
    }
}

// ---- evidence of health ----

TEST_CASE("queue.healthy_period: a queue that delivered so recently is healthy") {
    for (const auto& [evidence, health] : {std::pair{10s, Health::ready}, {2s, Health::glitch}}) {
        Bench b(with([&, evidence = evidence](Settings& s) { s.health_evidence = evidence; }));
        b.send({"x.example"});
        b.answer(b.take(), Outcome::delivered);
        b.pass(5s);
        b.send({"x.example"});
        b.answer(b.take(), Outcome::deferred, FailureKind::message);
        CHECK(b.queue("x.example").health == health);
    }
}

namespace {

// One connection is of use, a further one is refused ten seconds later.
struct OneOfTwo : Bench {
    explicit OneOfTwo(const Settings& s) : Bench(s) {
        connects = false;
        for (int n = 0; n < 200; ++n) send({"x.example"});
        up(opened.front());
        pass(1s); // slow
        answer(handed.front(), Outcome::delivered);
        pass(10s);
        REQUIRE(opened.size() > 1);
        refuse(opened.back());
    }
};

} // namespace

TEST_CASE("queue.link_healthy_period: while a connection was useful so recently, a refused one is no failure") {
    CHECK(OneOfTwo(Bench::exact()).link("x.example").health == Health::ready);
    CHECK(OneOfTwo(with([](Settings& s) { s.link_health_evidence = 5s; })).link("x.example").health == Health::glitch);
}

TEST_CASE("queue.connection_backoff: then no further connection for so long") {
    for (const auto pause : {1s, 8s}) {
        OneOfTwo b(with([&](Settings& s) { s.push_back_pause = pause; }));
        while (b.opened.size() > 1) b.refuse(b.opened.back());
        const auto open = b.tries.size();
        b.answer(b.handed.front(), Outcome::delivered);
        for (int n = 0; n < 60 && b.tries.size() == open; ++n) { // its window grows by success
            b.pass(pause / 10);
            if (!b.handed.empty()) b.answer(b.handed.front(), Outcome::delivered);
            if (n < 9) CHECK(b.tries.size() == open);
        }
    }
}

TEST_CASE("queue.crashes_before_hold: agents a message may kill, alone in flight") {
    for (const std::uint32_t most : {3u, 1u}) {
        Bench b(with([&](Settings& s) { s.deaths_before_hold = most; }));
        b.send({"x.example"});
        std::uint32_t deaths = 0;
        for (AgentId next = 10; b.held.empty() && deaths < 9; ++next) {
            const auto victim = b.take().agent;
            b.handed.clear();
            b.opened.clear();
            b.engine.agent_gone(victim, AgentExit::crashed, b.now(), b.out);
            b.engine.agent_attached(next, AgentKind::smtp, 1000, b.now(), b.out);
            b.run();
            ++deaths;
        }
        CHECK(deaths == most);
    }
}

// ---- our own services ----

TEST_CASE("queue.local_retry: after a failure of local delivery") {
    CHECK(wait_after(Bench::exact(), "local") == 300);
    CHECK(wait_after(with([](Settings& s) { s.local_retry = 90s; }), "local") == 90);
}

namespace {

// When the categorizer, or the router, that has no answer is asked.
Times questions_to_a_dumb_categorizer(const Settings& s, std::size_t count) {
    Bench b(s);
    b.sorts = false;
    const auto id = b.send({"x.example"});
    Times out;
    while (out.size() < count) {
        out.push_back(b.seconds());
        const auto asked = b.asked.size();
        b.engine.categorization_failed(id, {}, b.now(), b.out);
        b.run();
        until(b, [&] { return b.asked.size() > asked; });
    }
    return out;
}

Times questions_to_a_dumb_router(const Settings& s, std::size_t count) {
    Bench b(s);
    b.route_kind["x.example"] = RouteKind::temporary;
    b.send({"x.example"});
    Times out;
    while (out.size() < count) {
        out.push_back(b.seconds());
        const auto asked = b.lookups.size();
        until(b, [&] { return b.lookups.size() > asked; });
    }
    return out;
}

} // namespace

TEST_CASE("queue.categorize_retry, doubling; queue.categorize_retry_max: the longest such wait") {
    CHECK(questions_to_a_dumb_categorizer(Bench::exact(), 4) == Times{0, 60, 180, 420});
    CHECK(questions_to_a_dumb_categorizer(with([](Settings& s) { s.categorize_retry = 10s; }), 4) ==
          Times{0, 10, 30, 70});
    CHECK(questions_to_a_dumb_categorizer(with([](Settings& s) { s.categorize_retry_max = 90s; }), 4) ==
          Times{0, 60, 150, 240});
}

TEST_CASE("queue.routing_retry, doubling; queue.routing_retry_max: the longest such wait") {
    CHECK(questions_to_a_dumb_router(Bench::exact(), 4) == Times{0, 60, 180, 420});
    CHECK(questions_to_a_dumb_router(with([](Settings& s) { s.routing_retry = 10s; }), 4) == Times{0, 10, 30, 70});
    CHECK(questions_to_a_dumb_router(with([](Settings& s) { s.routing_retry_max = 90s; }), 4) ==
          Times{0, 60, 150, 240});
}

TEST_CASE("queue.max_pending_categorizations: messages the categorizer is asked about at a time") {
    for (const std::uint32_t most : {1000u, 7u}) {
        Bench b(with([&](Settings& s) { s.max_pending_categorizations = most; }));
        b.sorts = false;
        for (int n = 0; n < 1200; ++n) b.send({"x.example"});
        CHECK(b.asked.size() == most);
    }
}

TEST_CASE("queue.report_retry: a report that could not be written, again soon and then after this time") {
    for (const auto wait : {300s, 45s, 1s}) {
        Bench b(with([&](Settings& s) { s.submit_retry = wait; }));
        b.reports_work = false;
        b.send({"x.example"});
        b.answer(b.take(), Outcome::failed);
        REQUIRE(b.reports.size() == 1);
        CHECK(until(b, [&] { return b.reports.size() > 1; }) == std::min(2.0, static_cast<double>(wait.count())));
        CHECK(until(b, [&] { return b.reports.size() > 2; }) == static_cast<double>(wait.count()));
    }
}

TEST_CASE("a report that could not be written is asked for at once when its message, or all mail, is tried now") {
    for (const int by : {0, 1}) {
        Bench b(with([&](Settings& s) { s.submit_retry = 300s; }));
        b.reports_work = false;
        const auto id = b.send({"x.example"});
        b.answer(b.take(), Outcome::failed);
        b.pass(10s);
        REQUIRE(b.reports.size() == 2);
        b.reports_work = true;
        if (by == 0) CHECK(b.engine.force(id, b.now(), b.out));
        if (by == 1) CHECK(b.engine.force(Scope::everything, "", b.now(), b.out));
        b.run();
        CHECK(b.reports.size() == 3);
        CHECK_FALSE(b.engine.message(id, b.now()));
    }
}

TEST_CASE("queue.internal_error_retry: after an error of our own") {
    for (const auto wait : {300s, 45s}) {
        Bench b(with([&](Settings& s) { s.requeue_retry = wait; }));
        b.send({"x.example"});
        b.answer(b.take(), std::vector<Result>{}); // the agent says nothing of its recipient
        CHECK(until(b, [&] { return !b.handed.empty(); }) == static_cast<double>(wait.count()));
    }
}

// ---- links that are down ----

namespace {

// x.example goes by "first", or by "second" while that is down.
struct TwoWays : Bench {
    explicit TwoWays(const Settings& s) : Bench(s) {
        link_of["x.example"] = "first";
        connects = false;
        on_link_state = [this](const std::string& link, bool down) {
            if (link == "first") link_of["x.example"] = down ? "second" : "first";
        };
        send({"x.example"});
        down_after = until(*this, [this] {
            while (!opened.empty() && link_states.empty()) refuse(opened.front());
            return !link_states.empty();
        });
    }
    double down_after = 0;
};

} // namespace

TEST_CASE("queue.link_down_after: in retry for so long") {
    CHECK(TwoWays(Bench::exact()).down_after == 120 + 300);
    CHECK(TwoWays(with([](Settings& s) { s.link_down_after = 30s; })).down_after == 120 + 30);
}

TEST_CASE("queue.link_up_after: between the two good probes that bring it back") {
    for (const auto apart : {300s, 40s}) {
        TwoWays b(with([&](Settings& s) { s.link_up_after = apart; }));
        b.connects = true;
        for (auto id : std::vector(b.opened)) b.up(id);
        while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered); // went by the second
        b.pass(10s);
        b.tries.clear();
        until(b, [&] { return !b.link_states.back().second; });
        REQUIRE(b.tries.size() == 2);
        CHECK(b.tries[1] - b.tries[0] == static_cast<double>(apart.count()));
    }
}

TEST_CASE("queue.reroute_retry: when not every route could be looked up anew") {
    for (const auto wait : {600s, 200s}) {
        Bench b(with([&](Settings& s) { s.reset_routes_retry = wait; }));
        b.connects = false;
        b.send({"x.example"});
        b.on_link_state = [&](const std::string&, bool) { b.route_kind["x.example"] = RouteKind::temporary; };
        until(b, [&] {
            while (!b.opened.empty() && b.resets.empty()) b.refuse(b.opened.front());
            return !b.resets.empty();
        });
        b.route_kind.clear();
        CHECK(until(b, [&] { return b.resets.size() > 1; }) == static_cast<double>(wait.count()));
    }
}

TEST_CASE("queue.overdue_spread: what is overdue at start is spread over so long") {
    for (const auto& [spread, waiting] : {std::pair{60s, true}, {0s, false}}) {
        Bench b(with([&, spread = spread](Settings& s) { s.overdue_spread = spread; }));
        for (int n = 0; n < 1000; ++n) {
            const RestoredRecipient overdue{.number = 0, .failures = 2, .next_attempt = b.now().wall - 1h};
            b.send({"x.example"}, {.restored = std::span(&overdue, 1)});
        }
        CHECK((b.engine.counts().waiting > 0) == waiting);
    }
}

// ---- time ----

namespace {

// Seconds until something is told of a message that is put off again and again.
double until_told(const Settings& s, const std::function<bool(Bench&)>& told, Sender sender = Sender::ordinary) {
    Bench b(s);
    b.send({"x.example"}, {.sender = sender});
    return until(
        b,
        [&] {
            if (!b.handed.empty()) b.answer(b.take(), Outcome::deferred);
            return told(b);
        },
        1min);
}

bool has_expired(Bench& b) { return !b.expired.empty(); }
bool is_delayed(Bench& b) {
    return std::ranges::any_of(b.reports, [](auto& each) { return each.kind == ReportKind::delayed; });
}

} // namespace

TEST_CASE("queue.expiry: mail goes back to its sender") {
    CHECK(until_told(Bench::exact(), has_expired) == doctest::Approx(5 * 86400).epsilon(0.01));
    CHECK(until_told(with([](Settings& s) { s.expiry = 10h; }), has_expired) == doctest::Approx(36000).epsilon(0.03));
}

TEST_CASE("queue.report_expiry: the same for reports") {
    CHECK(until_told(Bench::exact(), has_expired, Sender::null) == doctest::Approx(2 * 86400).epsilon(0.01));
    CHECK(until_told(with([](Settings& s) { s.report_expiry = 10h; }), has_expired, Sender::null) ==
          doctest::Approx(36000).epsilon(0.03));
}

TEST_CASE("queue.delay_notice: the sender is told once; 0: never") {
    CHECK(until_told(Bench::exact(), is_delayed) == doctest::Approx(4 * 3600).epsilon(0.03));
    CHECK(until_told(with([](Settings& s) { s.delay_notice = 8h; }), is_delayed) ==
          doctest::Approx(8 * 3600).epsilon(0.03));
    CHECK(until_told(with([](Settings& s) { s.delay_notice = 0s; }), is_delayed) >= 7 * 86400);
}

TEST_CASE("queue.report_merge_window: failures of a message within this time share a report") {
    for (const auto& [gather, reports] : {std::pair{2s, 1u}, {0s, 2u}}) {
        Bench b(with([&, gather = gather](Settings& s) { s.report_gather = gather; }));
        b.send({"x.example", "y.example"});
        b.answer(b.take(), Outcome::failed);
        b.pass(1s);
        b.answer(b.take(), Outcome::failed);
        b.pass(10s);
        CHECK(b.reports.size() == reports);
    }
}

TEST_CASE("queue.leave_incoming_after: what is not delivered by then leaves incoming/") {
    for (const auto settle : {2s, 20s}) {
        Bench b(with([&](Settings& s) { s.settle_after = settle; }));
        b.send({"x.example"}); // nobody answers for it
        const double left = until(b, [&] { return !b.moved.empty(); });
        CHECK(left >= static_cast<double>(settle.count()));
        CHECK(left <= static_cast<double>(settle.count()) + 1);
    }
}

TEST_CASE("queue.forget_after: a link with nothing to do and nothing to remember") {
    for (const auto forget : {600s, 60s}) {
        Bench b(with([&](Settings& s) { s.forget_after = forget; }));
        b.send({"x.example"});
        b.answer(b.take(), Outcome::delivered);
        const double left = until(b, [&] { return b.link("x.example").name.empty(); });
        CHECK(left >= static_cast<double>(forget.count()));
        CHECK(left <= 2 * static_cast<double>(forget.count()) + 10); // its queue first
    }
}
