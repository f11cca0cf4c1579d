// Expiry, notices, schedules, restarts, clocks.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

TEST_CASE("a message expires after five days of trying, an NDR after two") {
    Bench b;
    b.connects = false;
    Accepted ndr;
    ndr.sender = Sender::null;
    const auto id = b.send({"down.example"});
    const auto report = b.send({"down.example"}, ndr);
    auto fail = [&](smtp::Duration span) {
        for (const auto until = b.time + span; b.time < until; b.pass(30s))
            while (!b.opened.empty()) b.refuse(b.opened.front());
    };
    fail(47h + 50min);
    CHECK(b.expired.empty());
    fail(20min);
    CHECK(b.expired == std::vector{report});
    fail(71h);
    CHECK(b.expired.size() == 1);
    fail(61min);
    REQUIRE(b.expired.size() == 2);
    CHECK(b.expired[1] == id);
    CHECK(b.reports.back().recipients[0].expired);
    CHECK(b.reports.back().recipients[0].reason == b.reason); // the link's
    CHECK(b.removed.size() == 2);
    CHECK(b.engine.counts().messages == 0);
}

TEST_CASE("nothing expires while paused, nor before a try after that") {
    Bench b;
    b.connects = false;
    b.send({"down.example"});
    b.refuse(b.opened.front());
    b.engine.pause(Scope::link, "down.example", b.now(), b.out);
    b.pass(24h * 6);
    CHECK(b.expired.empty());
    b.engine.resume(Scope::link, "down.example", b.now(), b.out);
    b.run();
    b.pass(1s);
    CHECK(b.expired.empty());
    REQUIRE(b.opened.size() == 1);
    b.refuse(b.opened.front());
    b.pass(6min);
    CHECK(b.expired.size() == 1);
}

TEST_CASE("a clock that jumps a year ahead expires nothing without a try") {
    Bench b;
    b.send({"d.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    b.wall_extra = 24h * 365;
    b.pass(50s);
    CHECK(b.expired.empty());
    b.pass(20s);
    REQUIRE(b.handed.size() == 1);
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    CHECK(b.expired.size() == 1);
}

TEST_CASE("after a leap of the clock, one message's failure expires no other of its queue; the queue's failure does") {
    Bench b;
    const auto first = b.send({"d.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message); // the queue is in its glitch
    const auto second = b.send({"d.example"}), third = b.send({"d.example"});
    b.engine.pause(Scope::queue, "d.example", b.now(), b.out);
    b.wall_extra = 24h * 365;
    b.pass(4min + 50s); // the sweeper has looked, and will again in a few seconds
    b.engine.resume(Scope::queue, "d.example", b.now(), b.out);
    b.run();
    b.pass(2s);
    REQUIRE(b.take().id == first);
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    b.pass(59s);
    CHECK(b.expired == std::vector{first}); // the others wait in a glitch that is not theirs
    b.pass(1s);
    REQUIRE(b.take().id == second);
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.expired == std::vector{first, second});
    b.pass(6min); // different messages failed: the queue is in retry, and the third waits for that
    CHECK(b.handed.empty());
    CHECK(b.expired == std::vector{first, second, third});
}

TEST_CASE("a clock set back a year hides nothing") {
    Bench b;
    b.send({"d.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    b.wall_extra = -24h * 365;
    b.pass(60s);
    CHECK(b.handed.size() == 1);
    b.answer(b.take(), Outcome::delivered);
    b.send({"d.example"});
    CHECK(b.handed.size() == 1);
}

TEST_CASE("one notice of delay after four hours of trying; none for the null sender") {
    Bench b;
    Accepted null;
    null.sender = Sender::null;
    b.send({"d.example"});
    b.send({"d.example"}, null);
    auto fail = [&](smtp::Duration span) {
        for (const auto until = b.time + span; b.time < until; b.pass(30s))
            while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    };
    fail(3h + 58min);
    CHECK(b.reports.empty());
    fail(3min);
    REQUIRE(b.reports.size() == 1);
    CHECK(b.reports[0].kind == ReportKind::delayed);
    CHECK(b.reports[0].recipients.size() == 1);
    fail(10h);
    CHECK(b.reports.size() == 1);
    CHECK(b.engine.counts().messages == 2);
}

TEST_CASE("a recipient in flight when the delay notice is due gets a notice after the next failure") {
    Bench b;
    b.send({"d.example", "slow.example"});
    const auto fail = [&](smtp::Duration span, std::vector<RecipientNumber> whose) { // others stay in flight
        for (const auto until = b.time + span; b.time < until; b.pass(30s)) {
            const auto in_flight = b.handed;
            for (const auto& each : in_flight)
                if (std::ranges::find(whose, each.numbers.front()) != whose.end())
                    b.answer(each, Outcome::deferred, FailureKind::recipient);
        }
    };
    fail(4h + 2min, {0});
    REQUIRE(b.reports.size() == 1);
    REQUIRE(b.reports[0].recipients.size() == 1);
    CHECK(b.reports[0].recipients[0].number == 0);
    fail(10min, {0, 1});
    REQUIRE(b.reports.size() == 2);
    CHECK(b.reports[1].kind == ReportKind::delayed);
    REQUIRE(b.reports[1].recipients.size() == 1);
    CHECK(b.reports[1].recipients[0].number == 1);
    fail(10h, {0, 1});
    CHECK(b.reports.size() == 2);
}

TEST_CASE("scheduled mail leaves at its time; its life begins then") {
    Bench b;
    Accepted later;
    later.not_before = b.now().wall + 24h * 10;
    b.send({"d.example"}, later);
    b.pass(24h * 10 - 1s);
    CHECK(b.asked.empty());
    CHECK(b.expired.empty());
    b.pass(1s);
    CHECK(b.handed.size() == 1);
}

TEST_CASE("held mail does not move or age until it is released") {
    Bench b;
    Accepted held;
    held.held = true;
    const auto id = b.send({"d.example"}, held);
    b.pass(24h * 10);
    CHECK(b.asked.empty());
    CHECK(b.engine.release(id, b.now(), b.out));
    b.run();
    CHECK(b.handed.size() == 1);
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    CHECK(b.expired.empty());
    CHECK(b.engine.hold(id, b.now(), b.out));
    CHECK_FALSE(b.engine.hold(id, b.now(), b.out));
    b.pass(1h);
    CHECK(b.handed.empty());
}

TEST_CASE("mail that was held over its scheduled time is young when it is released") {
    Bench b;
    Accepted later;
    later.not_before = b.now().wall + 1h;
    const auto id = b.send({"d.example"}, later);
    CHECK(b.engine.hold(id, b.now(), b.out));
    b.pass(24h * 10);
    CHECK(b.engine.release(id, b.now(), b.out));
    b.run();
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    b.pass(1h);
    CHECK(b.expired.empty());
    CHECK(b.reports.empty()); // nor is it late
}

TEST_CASE("what waits moves out of incoming/, what is quick does not") {
    Bench b;
    b.connects = false;
    const auto slow = b.send({"d.example"});
    b.pass(1s);
    CHECK(b.moved.empty());
    b.pass(2s);
    CHECK(b.moved == std::vector{slow});
}

TEST_CASE("counters found in the spool count on") {
    Bench b;
    RestoredRecipient was;
    was.failures = 5;
    was.message_failures = 1;
    was.next_attempt = b.now().wall + 7min;
    Accepted a;
    a.location = spool::Location::messages;
    a.restored = std::span(&was, 1);
    b.send({"d.example"}, a);
    b.pass(7min - 1s);
    CHECK(b.asked.empty()); // not even sorted before it is due
    b.pass(1s);
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.deferrals[0].failures == 6);
    CHECK(b.deferrals[0].message_failures == 2);
    CHECK(b.deferrals[0].problem);
    CHECK(b.deferrals[0].next_attempt == b.now().wall + 15min);
}

TEST_CASE("only the open recipients of a restored message are asked for and tried") {
    Bench b;
    const RecipientNumber open[] = {1, 3};
    RestoredRecipient was;
    was.number = 3;
    was.failures = 1;
    was.next_attempt = b.now().wall + 30s;
    Accepted a;
    a.open = open;
    a.restored = std::span(&was, 1);
    b.send({"d.example", "d.example", "d.example", "d.example"}, a);
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().numbers == std::vector<RecipientNumber>{1});
    b.answer(b.take(), Outcome::delivered);
    b.pass(30s);
    CHECK(b.take().numbers == std::vector<RecipientNumber>{3});
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed.size() == 1);
}

TEST_CASE("a failure nobody was told of before the restart is reported") {
    Bench b;
    const ReportRecipient left[] = {{.number = 0, .kind = ReportKind::failed, .reason = b.reason}};
    Accepted a;
    a.recipients = 0;
    a.unreported = left;
    const auto id = b.send({"d.example"}, a);
    CHECK(b.reports.size() == 1);
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("a result repeated after the restart is taken, whatever the message waits for") {
    Bench b;
    b.sorts = false;
    const auto id = b.send({"d.example", "d.example"});
    const Result ok{0, Outcome::delivered};
    b.engine.done({0, 99, id, std::span(&ok, 1), false}, b.now(), b.out);
    b.run();
    const FinalRecipient both[] = {{0, Fate::remote, "d.example", 0, nullptr},
                                   {1, Fate::remote, "d.example", 0, nullptr}};
    b.engine.categorized({id, both}, b.now(), b.out);
    b.run();
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().numbers == std::vector<RecipientNumber>{1});
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("an idle engine has no timers but those for forgetting") {
    Bench b;
    b.send({"d.example"});
    b.answer(b.take(), Outcome::delivered);
    b.pass(1h);
    CHECK(b.timers < 10);
    CHECK_FALSE(b.engine.next_timer());
    CHECK(b.engine.counts().links == 0);
    CHECK(b.engine.counts().queues == 0);
}

TEST_CASE("each retry of our own services follows its setting") {
    Settings s = Bench::exact();
    SUBCASE("categorize_retry, categorize_retry_max") {
        s.categorize_retry = 7s;
        s.categorize_retry_max = 10s;
        Bench b(s);
        b.sorts = false;
        const auto id = b.send({"x.example"});
        for (const auto wait : {7s, 10s, 10s}) {
            b.engine.categorization_failed(id, {}, b.now(), b.out);
            b.run();
            b.asked.clear();
            b.pass(wait - 1s);
            CHECK(b.asked.empty());
            b.pass(1s);
            CHECK(b.asked.size() == 1);
        }
    }
    SUBCASE("routing_retry, routing_retry_max") {
        s.routing_retry = 5s;
        s.routing_retry_max = 6s;
        Bench b(s);
        b.route_kind["x.example"] = RouteKind::temporary;
        b.send({"x.example"});
        CHECK(b.lookups.size() == 1);
        b.pass(5s);
        CHECK(b.lookups.size() == 2);
        b.pass(6s);
        CHECK(b.lookups.size() == 3);
    }
    SUBCASE("local_retry") {
        s.local_retry = 3s;
        Bench b(s);
        b.send({"local"});
        b.answer(b.take(), Outcome::deferred);
        b.pass(2s);
        CHECK(b.handed.empty());
        b.pass(1s);
        CHECK(b.handed.size() == 1);
    }
}

TEST_CASE("scheduled, held, and its time came by a clock that jumped: released, it leaves at once") {
    Bench b;
    const auto id = b.send({"x.example"}, {.not_before = b.now().wall + 24h});
    REQUIRE(b.engine.hold(id, b.now(), b.out));
    b.run();
    b.wall_extra = 48h;
    b.pass(1min);
    REQUIRE(b.engine.release(id, b.now(), b.out));
    b.run();
    CHECK(b.handed.size() == 1);
}

TEST_CASE("scheduled, held while its time passed, and the clock is set back: released, it leaves at once") {
    Bench b;
    const auto id = b.send({"x.example"}, {.not_before = b.now().wall + 1h});
    REQUIRE(b.engine.hold(id, b.now(), b.out));
    b.run();
    b.pass(2h);
    b.wall_extra = -48h;
    b.pass(1min);
    REQUIRE(b.engine.release(id, b.now(), b.out));
    b.run();
    CHECK(b.handed.size() == 1);
}

TEST_CASE("scheduled and not yet due, the clock is set back: it leaves at its time by that clock") {
    Bench b;
    b.send({"x.example"}, {.not_before = b.now().wall + 1h});
    b.wall_extra = -2h;
    b.pass(2h);
    CHECK(b.handed.empty());
    b.pass(1h + 1min);
    CHECK(b.handed.size() == 1);
}

TEST_CASE("DELIVERBY: mail that is late is returned, whatever keeps it; or its sender is notified, once") {
    Bench b;
    b.engine.pause(Scope::link, "down.example", b.now(), b.out);
    Accepted how;
    how.deliver_by = b.now().wall + 90s;
    how.late = smtp::LateMail::give_back;
    const auto returned = b.send({"down.example"}, how);
    how.late = smtp::LateMail::notify;
    b.send({"down.example"}, how);
    how.deliver_by = b.now().wall - 1s; // a host before us has notified the sender
    b.send({"down.example"}, how);
    b.pass(89s);
    CHECK(b.expired.empty());
    CHECK(b.reports.empty());
    b.pass(2s);
    CHECK(b.expired == std::vector{returned});
    b.pass(5min); // reports are gathered
    REQUIRE(b.reports.size() == 2);
    const auto& failed = b.reports[0].kind == ReportKind::failed ? b.reports[0] : b.reports[1];
    const auto& late = b.reports[0].kind == ReportKind::failed ? b.reports[1] : b.reports[0];
    CHECK(failed.recipients[0].reason.status == "4.4.7");
    CHECK(late.kind == ReportKind::delayed);
    b.pass(3h);
    CHECK(b.reports.size() == 2);
}
