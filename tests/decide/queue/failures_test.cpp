// Whose failure it is, and who else has to wait for it.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {
bool in(const std::vector<spool::QueueId>& list, spool::QueueId id) { return std::ranges::count(list, id) > 0; }
} // namespace

TEST_CASE("delivered: removed at once, without a record or a rename") {
    Bench b;
    const auto id = b.send({"good.example"});
    CHECK(in(b.active, id));
    b.answer(b.take(), Outcome::delivered);
    CHECK(in(b.removed, id));
    CHECK(b.outcomes.empty());
    CHECK(b.moved.empty());
    CHECK(b.engine.counts().messages == 0);
}

TEST_CASE("taking over twice is harmless") {
    Bench b;
    b.sorts = false;
    const auto id = b.send({"good.example"});
    Accepted again;
    again.id = id;
    CHECK_FALSE(b.engine.accepted(again, b.now(), b.out));
    CHECK(b.engine.counts().messages == 1);
}

TEST_CASE("a permanent failure is reported first, then recorded, then the message goes") {
    Bench b;
    b.reports_work = false;
    const auto id = b.send({"good.example", "good.example", "good.example"});
    const Handed h = b.take();
    CHECK(h.numbers.size() == 3); // they travel together
    b.answer(h, {{0, Outcome::delivered},
                 {1, Outcome::failed, FailureKind::recipient, PushBack::no, SuccessReport::none, &b.reason},
                 {2, Outcome::failed, FailureKind::recipient, PushBack::no, SuccessReport::none, &b.reason}});
    REQUIRE(b.reports.size() == 1); // one NDR for both, and the accepted one is not in it
    CHECK(b.reports[0].recipients.size() == 2);
    CHECK(b.outcomes.size() == 1);
    CHECK(b.removed.empty());
    b.reports_work = true;
    b.pass(5min); // submit_retry
    CHECK(b.reports.size() == 2);
    CHECK(b.outcomes.back().finish == Finish::failed);
    CHECK(in(b.removed, id));
}

TEST_CASE("failures of one message at several places share a report") {
    Bench b;
    b.send({"a.example", "b.example"});
    REQUIRE(b.handed.size() == 2);
    b.answer(b.handed[0], Outcome::failed);
    CHECK(b.reports.empty());
    b.pass(1s);
    b.answer(b.take(), Outcome::failed);
    REQUIRE(b.reports.size() == 1);
    CHECK(b.reports[0].recipients.size() == 2);
}

TEST_CASE("greylisting holds up its recipient and nobody else") {
    Bench b;
    const auto id = b.send({"grey.example", "grey.example"});
    b.answer(b.take(), {{0, Outcome::delivered},
                        {1, Outcome::deferred, FailureKind::recipient, PushBack::no, SuccessReport::none, &b.reason}});
    CHECK(in(b.moved, id));
    const auto other = b.send({"grey.example"});
    CHECK(b.take().id == other);
    b.answer(b.take(), Outcome::delivered);
    b.pass(59s);
    CHECK(b.handed.empty());
    b.pass(1s);
    CHECK(b.take().numbers == std::vector<RecipientNumber>{1});
    b.answer(b.take(), Outcome::delivered);
    CHECK(in(b.removed, id));
}

TEST_CASE("recipients due within the minute travel together again, never early") {
    Bench b;
    b.send({"grey.example", "grey.example"});
    const Result no{0, Outcome::deferred, FailureKind::recipient, PushBack::no, SuccessReport::none, &b.reason};
    Result one = no, two = no;
    two.number = 1;
    const Reason other{"4.0.1", "another reason", "", ""};
    two.reason = &other; // told apart, yet due at the same time
    b.answer(b.take(), {one, two});
    b.pass(59s);
    CHECK(b.handed.empty());
    b.pass(1s);
    REQUIRE(b.handed.size() == 1);
    CHECK(b.handed[0].numbers.size() == 2);
}

TEST_CASE("a queue in glitch tries its head again; the second failure makes it a problem; the others pass") {
    Bench b;
    b.connects = true;
    const auto bad = b.send({"d.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.queue("d.example").health == Health::glitch);
    std::vector<spool::QueueId> good;
    for (int n = 0; n < 20; ++n) good.push_back(b.send({"d.example"}));
    CHECK(b.handed.empty());
    b.pass(60s);
    REQUIRE(b.handed.size() == 1); // one try
    CHECK(b.take().id == bad);
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.deferrals.back().problem);
    b.pass(60s);
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().id == good[0]);
    b.answer(b.take(), Outcome::delivered); // ready again: no stampede, but all of them
    for (int n = 0; n < 40 && !b.handed.empty(); ++n) {
        if (b.take().id == bad)
            b.answer(b.take(), Outcome::deferred, FailureKind::message);
        else
            b.answer(b.take(), Outcome::delivered);
    }
    CHECK(b.removed.size() == 20);
    CHECK(b.seconds() == doctest::Approx(120));
}

TEST_CASE("evidence of health: one message's failure delays only itself") {
    Bench b;
    const auto good = b.send({"d.example"});
    b.answer(b.take(), Outcome::delivered);
    CHECK(in(b.removed, good));
    b.pass(9s);
    b.send({"d.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.queue("d.example").health == Health::ready);
    const auto next = b.send({"d.example"});
    CHECK(b.take().id == next);
}

TEST_CASE("a queue enters retry only on failures of different messages") {
    Bench b;
    b.send({"d.example"});
    for (int n = 0; n < 3; ++n) {
        b.answer(b.take(), Outcome::deferred, FailureKind::message);
        b.pass(60s);
    }
    CHECK(b.queue("d.example").health == Health::glitch);
    const auto newcomer = b.send({"d.example"});
    b.pass(60s);
    CHECK(b.take().id == newcomer);
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.queue("d.example").health == Health::retry);
}

TEST_CASE("a message's failure never makes another queue of its link wait") {
    Bench b;
    b.link_of = {{"a.example", "shared"}, {"b.example", "shared"}};
    b.send({"a.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    CHECK(b.queue("a.example").health == Health::glitch);
    const auto other = b.send({"b.example"});
    CHECK(b.take().id == other);
}

TEST_CASE("a link's probe takes a different message each time") {
    Bench b;
    b.connects = false;
    const auto first = b.send({"d.example"});
    const auto second = b.send({"d.example"});
    CHECK(b.take().id == first);
    b.refuse(b.take().connection);
    b.pass(60s);
    CHECK(b.take().id == second);
    b.refuse(b.take().connection);
    b.pass(60s);
    CHECK(b.take().id == first);
    CHECK(b.opened.size() == 1);
}

TEST_CASE("several connections refused in one round are one failure") {
    Bench b;
    b.connects = false;
    for (int n = 0; n < 200; ++n) b.send({"d.example"});
    b.pass(400ms); // nothing answers: more are opened
    CHECK(b.opened.size() > 1);
    while (!b.opened.empty()) b.refuse(b.opened.front());
    CHECK(b.link("d.example").failures == 1);
    CHECK(b.link("d.example").health == Health::glitch);
}

TEST_CASE("two different messages in a row dropped at their data fail the link, one does not") {
    Bench b;
    b.link_of = {{"a.example", "shared"}, {"b.example", "shared"}};
    b.send({"a.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message, true);
    CHECK(b.link("shared").health == Health::ready);
    b.send({"b.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message, true);
    CHECK(b.link("shared").health == Health::glitch);
    CHECK(b.link_events.back().second == 4001);
}

TEST_CASE("a domain that cannot receive mail: reported, its link untouched") {
    Bench b;
    b.route_kind["gone.example"] = RouteKind::permanent;
    const auto id = b.send({"gone.example"});
    CHECK(b.reports.size() == 1);
    CHECK(in(b.removed, id));
}

TEST_CASE("a domain that cannot be looked up: asked again after 1, 2, 4 … minutes") {
    Bench b;
    b.route_kind["slow.example"] = RouteKind::temporary;
    b.send({"slow.example"});
    CHECK(b.lookups.size() == 1);
    b.pass(60s);
    CHECK(b.lookups.size() == 2);
    b.pass(119s);
    CHECK(b.lookups.size() == 2);
    b.route_kind.clear();
    b.pass(1s);
    CHECK(b.lookups.size() == 3);
    CHECK(b.handed.size() == 1);
}

TEST_CASE("a success report keeps the message until it is durable") {
    Bench b;
    b.reports_work = false;
    const auto id = b.send({"d.example"});
    b.answer(b.take(),
             {{0, Outcome::delivered, FailureKind::recipient, PushBack::no, SuccessReport::delivered, nullptr}});
    REQUIRE(b.reports.size() == 1);
    CHECK(b.reports[0].kind == ReportKind::delivered);
    CHECK_FALSE(in(b.removed, id));
    b.reports_work = true;
    b.pass(5min);
    CHECK(in(b.removed, id));
}

TEST_CASE("recipients an agent says nothing of wait internal_error_retry, uncounted") {
    Bench b;
    b.send({"d.example", "d.example"});
    b.answer(b.take(), {{0, Outcome::delivered}});
    b.pass(5min - 1s);
    CHECK(b.handed.empty());
    b.pass(1s);
    CHECK(b.take().numbers == std::vector<RecipientNumber>{1});
    CHECK(b.deferrals.empty());
}
