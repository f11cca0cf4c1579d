// New mail that has to wait for its link's or queue's rest to end, and mail that is thrown away: what the log is told.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <fmt/format.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

struct Told : Bench {
    using Bench::Bench;
    spool::QueueId submit(std::vector<std::string> domains) {
        Accepted how;
        how.origin = Origin::submitted;
        return send(std::move(domains), how);
    }
    // "0: because", one for each recipient of that message.
    std::vector<std::string> said_of(spool::QueueId id) const {
        std::vector<std::string> out;
        for (const auto& each : suspended)
            if (each.id == id) out.push_back(fmt::format("{}: {}", each.number, each.why));
        return out;
    }
    using Lines = std::vector<std::string>;
};

} // namespace

TEST_CASE("new mail for a link that rests is told of, once for each recipient") {
    Told b;
    b.connects = false;
    b.link_of = {{"x.example", "hub"}, {"y.example", "hub"}};
    const auto first = b.submit({"x.example"});
    b.refuse(b.opened.at(0));
    CHECK(b.said_of(first).empty()); // the agent that tried tells
    b.pass(10s);
    const auto second = b.submit({"x.example", "x.example", "ok.example"});
    CHECK(b.said_of(second) == Told::Lines{"0: because", "1: because"});
    const auto third = b.submit({"y.example"}); // its route is looked up first, and leads to the same link
    CHECK(b.said_of(third) == Told::Lines{"0: because"});
    b.pass(3h); // tried in vain, again and again
    for (int i = 0; i < 5; ++i) {
        while (!b.opened.empty()) b.refuse(b.opened.front());
        b.pass(15min);
    }
    CHECK(b.suspended.size() == 3);
    b.submit({"y.example"});
    CHECK(b.suspended.size() == 4);
}

TEST_CASE("what is found in the spool was told of before") {
    Told b;
    b.connects = false;
    b.submit({"x.example"});
    b.refuse(b.opened.at(0));
    b.send({"x.example"});
    CHECK(b.suspended.empty());
}

TEST_CASE("what waited already when the rest began is told of then; of a crowd so many") {
    Told b;
    b.connects = false;
    const auto first = b.submit({"x.example"});
    const auto second = b.submit({"x.example"});
    CHECK(b.suspended.empty());
    for (int i = 0; i < 3000; ++i) b.submit({fmt::format("x.example")});
    while (!b.opened.empty()) b.refuse(b.opened.front());
    CHECK(b.said_of(first).empty());
    CHECK(b.said_of(second) == Told::Lines{"0: because"});
    CHECK(b.suspended.size() == 1000);
}

TEST_CASE("a long queue whose link comes and goes: who was told of is not looked for again") {
    Told b;
    b.connects = false;
    const auto unsaid = [&] { return b.engine.counts().unlogged; };
    // The link serves one message, and fails again.
    const auto comes_and_goes = [&](auto meanwhile) {
        b.pass(61s);
        REQUIRE(b.opened.size() == 1);
        b.up(b.opened.front());
        b.answer(b.take(), Outcome::delivered);
        meanwhile();
        while (!b.opened.empty()) b.refuse(b.opened.front());
        REQUIRE(b.link("x.example").health == Health::glitch);
    };
    for (int i = 0; i < 2500; ++i) b.submit({"x.example"});
    while (!b.opened.empty()) b.refuse(b.opened.front());
    CHECK(b.suspended.size() == 1000);
    auto left = unsaid();
    CHECK(left <= 1500);
    CHECK(left >= 1400);
    for (int i = 0; i < 2; ++i) {
        comes_and_goes([] {});
        CHECK(unsaid() <= left - std::min<std::uint64_t>(left, 1000));
        left = unsaid();
    }
    CHECK(left == 0);
    CHECK(b.suspended.size() <= 2500);
    // While it rests each is told of as it comes.
    const auto before = b.suspended.size();
    for (int i = 0; i < 9000; ++i) b.submit({"x.example"});
    CHECK(b.suspended.size() == before + 9000);
    CHECK(unsaid() == 0);
    // One that comes at a good moment is found behind so many, but not behind any number.
    spool::QueueId late;
    left = b.queue("x.example").due;
    CHECK(left > 10'000);
    comes_and_goes([&] { late = b.submit({"x.example"}); });
    CHECK(b.said_of(late).empty());
    CHECK(unsaid() == 1);
    CHECK(b.engine.message(late, b.now())->deliveries.at(0).reason.text == "because"); // listings say
}

TEST_CASE("while a link is tried again, further mail is told of the last failure") {
    Told b;
    b.connects = false;
    b.submit({"x.example"});
    b.refuse(b.opened.at(0));
    b.pass(61s);
    REQUIRE(b.opened.size() == 1); // the probe is under way
    const auto id = b.submit({"x.example"});
    CHECK(b.said_of(id) == Told::Lines{"0: because"});
    b.up(b.opened.front());
    b.answer(b.take(), Outcome::delivered);
    const auto later = b.submit({"x.example"}); // it is healthy again
    CHECK(b.said_of(later).empty());
}

TEST_CASE("a queue that rests, and one that has no route for now") {
    Told b;
    const auto first = b.submit({"x.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::policy);
    const auto second = b.submit({"x.example"});
    CHECK(b.said_of(first).empty());
    CHECK(b.said_of(second) == Told::Lines{"0: because"});
    b.route_kind["lost.example"] = RouteKind::temporary;
    const auto third = b.submit({"lost.example"});
    CHECK(b.said_of(third).empty()); // NoticeUndelivered: the look-up was made for it
    const auto fourth = b.submit({"lost.example"});
    CHECK(b.said_of(fourth) == Told::Lines{"0: because"});
}

TEST_CASE("one message's failure is no word on the others, until its queue is in retry") {
    Told b;
    const auto first = b.submit({"x.example"}), second = b.submit({"x.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::message);
    while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred, FailureKind::message);
    b.submit({"x.example"});
    CHECK(b.suspended.empty());
    CHECK(b.queue("x.example").health == Health::glitch);
    for (int i = 0; i < 3 && b.queue("x.example").health == Health::glitch; ++i) {
        b.pass(61s);
        while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred, FailureKind::message);
    }
    REQUIRE(b.queue("x.example").health == Health::retry);
    const auto later = b.submit({"x.example"});
    CHECK(b.said_of(later) == Told::Lines{"0: because"});
    CHECK(b.said_of(first).empty());
    CHECK(b.said_of(second).empty());
}

TEST_CASE("pauses, schedules and holds are no failures") {
    Told b;
    b.engine.pause(Scope::link, "x.example", b.now(), b.out);
    b.run();
    b.submit({"x.example"});
    CHECK(b.suspended.empty());
}

TEST_CASE("mail that is thrown away is told of, alone and in company, and once") {
    Told b;
    const auto alone = b.submit({"discard"});
    CHECK(b.active == std::vector{alone});
    CHECK(b.discarded == std::vector<std::pair<spool::QueueId, RecipientNumber>>{{alone, 0}});
    CHECK(b.removed == std::vector{alone});
    CHECK(b.outcomes.empty()); // the file is gone
    const auto both = b.submit({"x.example", "discard"});
    CHECK(b.discarded.size() == 2);
    CHECK(b.discarded.back() == std::pair<spool::QueueId, RecipientNumber>{both, 1});
    REQUIRE(b.outcomes.size() == 1);
    CHECK(b.outcomes[0].finish == Finish::discarded);
    b.answer(b.take(), Outcome::deferred);
    b.pass(1h);
    CHECK(b.discarded.size() == 2);
    Accepted verify;
    verify.trace = Trace::verify;
    b.send({"discard"}, verify); // only asked about
    CHECK(b.discarded.size() == 2);
}
