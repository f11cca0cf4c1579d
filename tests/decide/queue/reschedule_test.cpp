// Another time for mail that waits.
#include "tests/decide/queue/bench.h"

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

smtp::WallTime in(Bench& b, smtp::Duration span) { return b.now().wall + span; }

bool reschedule(Bench& b, spool::QueueId id, smtp::WallTime at, smtp::WallTime expiry = {}) {
    const bool done = b.engine.reschedule(id, at, expiry, b.now(), b.out);
    b.run();
    return done;
}

} // namespace

TEST_CASE("scheduled mail is moved to a later time, an earlier one, and to now") {
    Bench b;
    const auto id = b.send({"d.example"}, {.not_before = in(b, 1h)});
    REQUIRE(reschedule(b, id, in(b, 3h)));
    b.pass(3h - 1s);
    CHECK(b.asked.empty());
    CHECK(b.handed.empty());
    REQUIRE(reschedule(b, id, in(b, 10h)));
    REQUIRE(reschedule(b, id, in(b, 1min)));
    CHECK(b.engine.message(id, b.now())->deliveries[0].waiting == Waiting::scheduled);
    b.pass(59s);
    CHECK(b.handed.empty());
    b.pass(1s);
    CHECK(b.take().id == id);
    const auto second = b.send({"e.example"}, {.not_before = in(b, 1h)});
    REQUIRE(reschedule(b, second, b.now().wall));
    CHECK(b.handed.size() == 2);
}

TEST_CASE("its lifetime begins at the new time, and so does its delay notice") {
    Bench b;
    b.connects = false;
    const auto id = b.send({"down.example"}, {.not_before = in(b, 1h), .lifetime = 2h});
    REQUIRE(reschedule(b, id, in(b, 24h)));
    CHECK(b.engine.message(id, b.now())->expiry == in(b, 26h));
    b.pass(26h - 1min);
    CHECK(b.expired.empty());
    const auto fixed = b.send({"down.example"}, {.not_before = in(b, 1h), .expiry = in(b, 2h)});
    REQUIRE(reschedule(b, fixed, in(b, 90min)));
    CHECK(b.engine.message(fixed, b.now())->expiry == in(b, 2h)); // a point in time
    REQUIRE(reschedule(b, fixed, in(b, 3h), in(b, 4h)));
    CHECK(b.engine.message(fixed, b.now())->expiry == in(b, 4h));
}

TEST_CASE("mail that was tried waits for the new time with all its recipients, and its failures count on") {
    Bench b;
    const auto id = b.send({"x.example", "y.example"});
    b.answer(b.take(), Outcome::deferred);
    b.answer(b.take(), Outcome::deferred);
    REQUIRE(reschedule(b, id, in(b, 2h)));
    b.pass(2h - 1s);
    CHECK(b.handed.empty());
    b.pass(1s);
    REQUIRE(b.handed.size() == 2);
    b.answer(b.take(), Outcome::deferred);
    CHECK(b.deferrals.back().failures == 2);
}

TEST_CASE("not what is in flight, is to be sent at once already, is only to be reported, or is not there") {
    Bench b;
    const auto id = b.send({"x.example"});
    REQUIRE(b.handed.size() == 1);
    CHECK_FALSE(reschedule(b, id, in(b, 1h)));
    b.answer(b.take(), Outcome::deferred);
    CHECK_FALSE(reschedule(b, id, b.now().wall));
    b.connects = true;
    b.engine.expire(id, b.now(), b.out);
    CHECK_FALSE(b.engine.reschedule(id, in(b, 1h), {}, b.now(), b.out));
    CHECK_FALSE(reschedule(b, spool::QueueId{4711}, in(b, 1h)));
    CHECK_FALSE(reschedule(b, b.send({"z.example"}, {.with_earlier_agent = true}), in(b, 1h)));
}

TEST_CASE("held mail keeps both: it leaves when it is released and its new time has come") {
    Bench b;
    const auto id = b.send({"x.example"}, {.held = true});
    REQUIRE(reschedule(b, id, in(b, 1h)));
    b.pass(2min);
    REQUIRE(b.engine.release(id, b.now(), b.out));
    b.run();
    CHECK(b.handed.empty());
    b.pass(58min);
    CHECK(b.handed.size() == 1);
    const auto freed = b.send({"y.example"}, {.not_before = in(b, 1h), .held = true});
    REQUIRE(reschedule(b, freed, b.now().wall));
    CHECK(b.handed.size() == 1);
    REQUIRE(b.engine.release(freed, b.now(), b.out));
    b.run();
    CHECK(b.handed.size() == 2);
}

TEST_CASE("mail that is returned when it is late stays so") {
    Bench b;
    b.connects = false;
    Accepted how{.not_before = in(b, 1h), .expiry = in(b, 10h)};
    how.deliver_by = in(b, 5h);
    how.late = smtp::LateMail::give_back;
    const auto id = b.send({"down.example"}, how);
    REQUIRE(reschedule(b, id, in(b, 4h), in(b, 13h)));
    b.pass(5h + 1s);
    CHECK(b.expired == std::vector{id});
}
