// Named retry policies: a message's own clock, whatever fails; and values that no reload changes.
#include "tests/decide/queue/bench.h"
#include <algorithm>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

using Kind = RetryPolicy::Kind;

RetryPolicy doubling_from_5s() {
    return {.name = "quick", .kind = Kind::exponential, .base = 5s, .factor = 2, .jitter = 0, .attempts = 10};
}
RetryPolicy every(smtp::Duration interval, std::uint32_t attempts) {
    return {.name = "quick", .kind = Kind::fixed, .interval = interval, .jitter = 0, .attempts = attempts};
}

Settings with(RetryPolicy policy) {
    Settings s = Bench::exact();
    s.routes["rule"] = {.retry_policy = policy.name};
    s.policies = {std::move(policy)};
    return s;
}

struct Named : Bench {
    explicit Named(Settings s) : Bench(std::move(s)) { rule = "rule"; }

    // Lets time pass, every try ending as `how` says; when tries were made.
    std::vector<double> fail_for(smtp::Duration during, const std::function<void(Handed)>& how) {
        std::vector<double> out;
        const auto until = time + during;
        while (time < until) {
            while (!handed.empty()) {
                const Handed h = take();
                if (out.empty() || out.back() != seconds()) out.push_back(seconds());
                how(h);
            }
            pass(std::min(smtp::Duration(1s), until - time));
        }
        return out;
    }
    std::vector<double> refuse_for(smtp::Duration during) {
        connects = false;
        const auto until = time + during;
        std::vector<double> out;
        while (time < until) {
            for (; !opened.empty(); refuse(opened.front()))
                if (!handed.empty()) out.push_back(seconds()); // else it was looked whether the link is up again
            pass(std::min(smtp::Duration(1s), until - time));
        }
        return out;
    }
    double until_removed(smtp::Duration at_most, const std::function<void(Handed)>& how) {
        const auto until = time + at_most;
        while (removed.empty() && time < until) fail_for(1s, how);
        return seconds();
    }
};

} // namespace

TEST_CASE("a named policy holds for every kind of failure, and its tries end by time") {
    const std::vector<double> own = {0, 5, 15, 35, 75, 155, 315, 635, 1275, 2555};
    // What the link or the domain's queue rests after (60 s, 60 s, 10 min …) delays tries; they count.
    const std::vector<double> delayed = {0, 75, 155, 1275, 2555};
    Named b(with(doubling_from_5s()));
    std::vector<double> tries;
    std::vector<double> expected;
    const auto answered = [&](FailureKind kind) {
        return [&b, kind](const Handed& h) { b.answer(h, Outcome::deferred, kind); };
    };
    SUBCASE("the connection, refused, by MX hosts") {
        b.route_kind["x.example"] = RouteKind::mx;
        b.send({"x.example"});
        tries = b.refuse_for(3000s);
        expected = delayed;
    }
    if (tries.empty()) b.send({"x.example"});
    SUBCASE("a recipient") {
        tries = b.fail_for(3000s, answered(FailureKind::recipient));
        expected = own;
    }
    SUBCASE("the message, after the dot") {
        tries = b.fail_for(3000s, answered(FailureKind::message));
        expected = own;
    }
    SUBCASE("the domain's TLS policy") {
        tries = b.fail_for(3000s, answered(FailureKind::policy));
        expected = delayed;
    }
    SUBCASE("the connection, in its session") {
        tries = b.fail_for(3000s, answered(FailureKind::connection));
        expected = delayed;
    }
    SUBCASE("the connection, refused; the link is down after a while, and looked at without mail") {
        tries = b.refuse_for(3000s);
        expected = {0, 75, 155};
    }
    std::string when;
    for (const double each : tries) when += std::to_string(static_cast<int>(each)) + " ";
    CAPTURE(when);
    CHECK(tries == expected);
    REQUIRE(b.reports.size() == 1);
    CHECK(b.reports[0].recipients[0].expired);
    CHECK(b.removed.size() == 1);
    CHECK(b.deferrals.size() == 9);
}

TEST_CASE("a dead host uses up the tries of all that wait for it by time") {
    Named b(with(every(60s, 3)));
    for (int n = 0; n < 1000; ++n) b.send({"x.example"});
    b.refuse_for(130s);
    CHECK(b.removed.size() == 1000);
    CHECK(b.tries.size() <= 4);
}

TEST_CASE("what a rest delays is logged as a try, and recorded") {
    Named b(with(every(10s, 4)));
    const auto first = b.send({"x.example"});
    b.refuse_for(1s);
    const auto second = b.send({"x.example"});
    REQUIRE(b.suspended.size() == 1);
    CHECK(b.suspended[0].id == second);
    CHECK(b.suspended[0].why == "because");
    REQUIRE(b.deferrals.size() == 2);
    CHECK(b.deferrals[0].id == first);
    CHECK(b.deferrals[1].id == second);
    CHECK(b.deferrals[1].failures == 1);
}

TEST_CASE("our own doing uses up no try: pauses, schedules") {
    Named b(with(every(10s, 3)));
    SUBCASE("everything paused") { b.engine.pause(Scope::everything, "", b.now(), b.out); }
    SUBCASE("the link") { b.engine.pause(Scope::link, "x.example", b.now(), b.out); }
    SUBCASE("the queue") { b.engine.pause(Scope::queue, "x.example", b.now(), b.out); }
    b.send({"x.example"});
    b.pass(10min);
    CHECK(b.deferrals.empty());
    CHECK(b.reports.empty());
}

TEST_CASE("a pause that ends while the link rests: the try that was due then counts") {
    Named b(with(every(10s, 3)));
    b.send({"x.example"});
    b.engine.pause(Scope::queue, "x.example", b.now(), b.out);
    b.refuse_for(1s); // the link rests until 60
    b.pass(20s);
    CHECK(b.deferrals.empty());
    b.engine.resume(Scope::queue, "x.example", b.now(), b.out);
    b.run();
    b.pass(25s);
    CHECK(b.removed.size() == 1);
}

TEST_CASE("while a try of the link is under way nothing counts; what waited goes when it is good") {
    Named b(with(every(70s, 3)));
    b.connects = false;
    b.send({"x.example"});
    b.refuse(b.take().connection);
    b.send({"x.example"}); // counts, next at 70
    b.pass(71s);           // both come due: one is the link's try
    REQUIRE(b.handed.size() == 1);
    CHECK(b.deferrals.size() == 2);
    b.connects = true;
    b.up(b.take().connection);
    b.answer(b.take(), Outcome::delivered);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed.size() == 2);
}

TEST_CASE("a lone message with a policy says nothing of its queue; others that wait there are not held up") {
    Named b(with(every(10s, 5)));
    b.send({"x.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.queue("x.example").health == Health::ready);
    b.send({"x.example"});
    CHECK(b.handed.size() == 1);
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.queue("x.example").health == Health::glitch); // two different ones
}

TEST_CASE("a route that cannot be looked up delays tries, too") {
    Named b(with(every(10s, 3)));
    b.route_kind["x.example"] = RouteKind::temporary;
    b.send({"x.example"}, {.retry_policy = "quick"});
    b.pass(25s);
    CHECK(b.removed.size() == 1);
}

TEST_CASE("a reload does not change what is queued: the policy's values") {
    Named b(with(every(4s, 6)));
    b.send({"x.example"});
    b.answer(b.take(), Outcome::deferred);
    SUBCASE("changed") { b.engine.configure(with(every(1s, 3)), b.now(), b.out); }
    SUBCASE("taken out") {
        Settings s = Bench::exact();
        b.engine.configure(s, b.now(), b.out);
    }
    b.run();
    const auto tries = b.fail_for(60s, [&](const Handed& h) { b.answer(h, Outcome::deferred); });
    CHECK(tries == std::vector<double>{4, 8, 12, 16, 20});
    CHECK(b.removed.size() == 1);
}

TEST_CASE("a reload does not change what is queued: when it expires") {
    Settings s = Bench::exact();
    s.expiry = 24h;
    s.report_expiry = 12h;
    Bench b(s);
    Accepted null_sender;
    null_sender.sender = Sender::null;
    b.send({"x.example"});
    b.send({"x.example"}, null_sender);
    while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred);
    b.pass(1h);
    s.expiry = s.report_expiry = 10min;
    b.engine.configure(s, b.now(), b.out);
    b.run();
    for (int n = 0; n < 60; ++n) {
        while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred);
        b.pass(1min);
    }
    CHECK(b.expired.empty());
    b.send({"x.example"}); // what comes now has the new one
    for (int n = 0; n < 30; ++n) {
        while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred);
        b.pass(1min);
    }
    CHECK(b.expired.size() == 1);
}

TEST_CASE("values that are recorded hold, whatever the settings say") {
    const RetryPolicy recorded = every(7s, 3);
    Accepted how;
    how.retry_policy = "quick";
    how.policy = &recorded;
    how.lifetime = 6h;
    Settings s = with(every(1s, 30));
    s.expiry = 1h;
    Named b(s);
    const auto id = b.send({"x.example"}, how);
    CHECK(b.engine.message(id, b.now())->expiry == b.now().wall + 6h);
    CHECK(b.fail_for(60s, [&](const Handed& h) { b.answer(h, Outcome::deferred); }) == std::vector<double>{0, 7, 14});
    CHECK(b.policies.empty()); // they are on record
}

TEST_CASE("a policy is recorded as its message begins to wait, not if it is delivered at once") {
    Named b(with(every(10s, 5)));
    b.send({"x.example"});
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.policies.empty());
    b.send({"x.example"});
    b.pass(5s); // it leaves incoming/, still in flight
    CHECK(b.policies == std::vector<std::string>{"quick"});
    b.answer(b.take(), Outcome::deferred);
    CHECK(b.policies.size() == 1);
}

TEST_CASE("requeue: another policy holds at once") {
    Named b(with(every(1h, 50)));
    const auto id = b.send({"x.example"});
    b.answer(b.take(), Outcome::deferred);
    const RetryPolicy other = {
        .name = "other", .kind = Kind::steps, .jitter = 0, .waits = {std::chrono::seconds(3), std::chrono::seconds(5)}};
    b.engine.requeue(id, b.now(), b.out, &other);
    b.run();
    CHECK(b.fail_for(60s, [&](const Handed& h) { b.answer(h, Outcome::deferred); }) == std::vector<double>{0, 3, 8});
    CHECK(b.removed.size() == 1);
}

TEST_CASE("requeue: \"exchange\" is the ladder, whatever the route says") {
    Named b(with(every(5s, 50)));
    const auto id = b.send({"x.example"});
    b.answer(b.take(), Outcome::deferred);
    const RetryPolicy ladder = {.name = "exchange"};
    b.engine.requeue(id, b.now(), b.out, &ladder);
    b.run();
    CHECK(b.fail_for(200s, [&](const Handed& h) { b.answer(h, Outcome::deferred); }) ==
          std::vector<double>{0, 60, 120});
}

TEST_CASE("a message's lifetime is changed by explicit word") {
    Settings s = Bench::exact();
    Bench b(s);
    const auto id = b.send({"x.example"});
    b.answer(b.take(), Outcome::deferred);
    b.pass(10s);
    b.engine.change_lifetime(id, 1h, b.now(), b.out);
    b.run();
    CHECK(b.engine.message(id, b.now())->expiry == b.now().wall - 10s + 1h);
    CHECK(b.expired.empty());
    b.engine.change_lifetime(id, 5s, b.now(), b.out); // overdue, and tried
    b.run();
    CHECK(b.expired == std::vector{id});
}

TEST_CASE("explain: which policy, and that a try that is delayed counts") {
    Named b(with(doubling_from_5s()));
    const auto id = b.send({"x.example"});
    b.refuse_for(1s);
    const auto why = b.engine.explain(id).front();
    const auto ladder = std::ranges::find(why.gates, Gate::ladder, &GateInfo::gate);
    REQUIRE(ladder != why.gates.end());
    CHECK(ladder->text == "1 failed attempt for this recipient; retry policy \"quick\" (exponential: 5s, "
                          "each wait 2 times the previous; 10 tries); an attempt that comes due while "
                          "the next hop is still waiting is not made, but counts");
}

TEST_CASE("policies: what waits behind its queue's own try is counted, too, when that try fails the link") {
    Settings s = Bench::exact();
    s.policies = {every(5min, 0)};
    Bench b(s);
    for (int n = 0; n < 4; ++n) { // different messages fail: the queue is in retry
        b.send({"d.example"});
        for (b.pass(60s); !b.handed.empty();) b.answer(b.take(), Outcome::deferred, FailureKind::message);
    }
    REQUIRE(b.queue("d.example").health == Health::retry);
    b.send({"d.example"}, {.retry_policy = "quick"});
    const auto id = b.send({"d.example"}, {.retry_policy = "quick"});
    b.connects = false;
    for (const auto until = b.time + 20min; b.opened.empty() && b.time < until;) b.pass(1s);
    REQUIRE(b.opened.size() == 1); // the queue's one try
    b.pass(6min);                  // meanwhile the time of both has come
    b.deferrals.clear();
    b.refuse(b.opened.front());
    b.pass(1s);
    CHECK(b.link("d.example").health == Health::glitch);
    CHECK(std::ranges::count(b.deferrals, id, &RecordDeferral::id) == 1);
}

TEST_CASE("policies: nothing expires by age for a try that was only counted") {
    Settings s = Bench::exact();
    s.policies = {every(5min, 0)};
    Bench b(s);
    b.connects = false;
    b.send({"d.example"});
    b.refuse(b.opened.front());
    b.pass(60s);
    b.refuse(b.opened.front());
    b.pass(60s);
    b.refuse(b.opened.front()); // in retry
    b.engine.pause(Scope::queue, "d.example", b.now(), b.out);
    const auto id = b.send({"d.example"}, {.retry_policy = "quick"});
    b.wall_extra = 24h * 365;
    b.pass(30s);
    b.engine.resume(Scope::queue, "d.example", b.now(), b.out);
    b.run();
    b.pass(1s);
    CHECK(std::ranges::count(b.deferrals, id, &RecordDeferral::id) == 1);
    CHECK(b.expired.empty());
    while (b.opened.empty()) b.pass(1s);
    b.refuse(b.opened.front());
    b.pass(6min);
    CHECK(std::ranges::count(b.expired, id) == 1);
}

TEST_CASE("policies: with its link, the tries of a queue that rests by itself are resumed, too") {
    Settings s = Bench::exact();
    s.policies = {every(5min, 0)};
    Bench b(s);
    for (int n = 0; n < 4; ++n) {
        b.send({"d.example"});
        for (b.pass(60s); !b.handed.empty();) b.answer(b.take(), Outcome::deferred, FailureKind::message);
    }
    REQUIRE(b.queue("d.example").health == Health::retry);
    b.engine.pause(Scope::link, "d.example", b.now(), b.out);
    const auto id = b.send({"d.example"}, {.retry_policy = "quick"});
    CHECK(std::ranges::count(b.deferrals, id, &RecordDeferral::id) == 0);
    b.engine.resume(Scope::link, "d.example", b.now(), b.out);
    b.run();
    b.pass(1s);
    CHECK(std::ranges::count(b.deferrals, id, &RecordDeferral::id) == 1);
}
