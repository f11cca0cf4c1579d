// What is due next, as a stop asks before it forgets.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

std::vector<spool::QueueId> due_next(const Bench& b, std::size_t at_most = 1000) {
    std::vector<spool::QueueId> out;
    for (const MessageInfo& each : b.engine.due_next(at_most, b.now())) out.push_back(each.id);
    return out;
}

// As found in the spool at a start: tried before, again after `wait`.
spool::QueueId restored(Bench& b, smtp::Duration wait, std::vector<std::string> domains = {"d.example"}) {
    std::vector<RestoredRecipient> was(domains.size());
    for (RecipientNumber n = 0; n < was.size(); ++n) {
        was[n].number = n;
        was[n].failures = 1;
        was[n].next_attempt = b.now().wall + wait;
    }
    Accepted a;
    a.location = spool::Location::messages;
    a.restored = was;
    return b.send(std::move(domains), a);
}

using Ids = std::vector<spool::QueueId>;

// A message whose link does not answer.
spool::QueueId failed(Bench& b) {
    b.connects = false;
    const auto id = b.send({"d.example"});
    REQUIRE(!b.opened.empty());
    b.refuse(b.opened.back());
    return id;
}

} // namespace

TEST_CASE("due next: the one due soonest first, and no more than were asked for") {
    Bench b;
    const auto third = restored(b, 3min), first = restored(b, 1min), fourth = restored(b, 4min),
               second = restored(b, 2min), also_fourth = restored(b, 4min);
    CHECK(due_next(b) == Ids{first, second, third, fourth, also_fourth});
    CHECK(due_next(b, 4) == Ids{first, second, third, fourth});
    CHECK(due_next(b, 1) == Ids{first});
    CHECK(due_next(b, 0) == Ids{});
    CHECK(due_next(Bench()) == Ids{});
    const auto info = b.engine.due_next(1, b.now());
    CHECK(info.at(0).location == spool::Location::messages);
}

TEST_CASE("due next: among many, whatever order they came in") {
    Bench b;
    std::vector<std::pair<smtp::Duration, spool::QueueId>> all;
    for (int n = 0; n < 2000; ++n) {
        const smtp::Duration wait = 1s * (1 + n * 7919 % 1499);
        all.emplace_back(wait, restored(b, wait));
    }
    std::ranges::sort(all);
    Ids expected;
    for (int n = 0; n < 100; ++n) expected.push_back(all[n].second);
    CHECK(due_next(b, 100) == expected);
}

TEST_CASE("due next: what is overdue comes before what is not, the longest first, wherever it waits") {
    Bench b;
    b.connects = false;
    const auto later = restored(b, 1h);
    const auto ready = b.send({"d.example"});
    b.pass(1s);
    b.sorts = false;
    const auto unsorted = b.send({"d.example"});
    b.pass(10s);
    CHECK(due_next(b) == Ids{ready, unsorted, later});
    // As a stop does, which lets what is in flight come home before it asks.
    b.engine.pause(Scope::everything, "", b.now(), b.out);
    b.run();
    CHECK(due_next(b) == Ids{ready, unsorted, later});
}

TEST_CASE("due next: a message with several recipients counts once, by the first of them") {
    Bench b;
    const auto both = b.send({"a.example", "b.example"});
    REQUIRE(b.handed.size() == 2);
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient); // due in 60 s
    b.pass(30s);
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient); // in 90 s
    const auto between = restored(b, 40s);
    CHECK(due_next(b) == Ids{both, between});
    b.pass(30s); // the first is in flight again, and done
    b.answer(b.take(), Outcome::delivered);
    CHECK(due_next(b) == Ids{between, both});
}

TEST_CASE("due next: what waits for a failing link is due when the link is") {
    Bench b;
    b.connects = false;
    const auto behind = b.send({"down.example"});
    b.refuse(b.opened.front()); // next try of the link in 60 s
    const auto also_behind = b.send({"down.example"});
    const auto before = restored(b, 30s), after = restored(b, 90s);
    const auto next = due_next(b);
    REQUIRE(next.size() == 4);
    CHECK(next.front() == before);
    CHECK(next.back() == after);
    CHECK(std::ranges::count(next, behind) == 1);
    CHECK(std::ranges::count(next, also_behind) == 1);
}

TEST_CASE("due next: not what is held or paused by an operator") {
    Bench b;
    b.connects = false;
    const auto free = b.send({"free.example"}), held = b.send({"free.example"});
    const auto of_queue = b.send({"queue.example"}), of_link = b.send({"link.example"});
    Accepted pooled;
    pooled.pool = "bulk";
    const auto of_pool = b.send({"pool.example"}, pooled);
    CHECK(due_next(b) == Ids{free, held, of_queue, of_link, of_pool});
    CHECK(b.engine.hold(held, b.now(), b.out));
    CHECK(b.engine.pause(Scope::queue, "queue.example", b.now(), b.out));
    CHECK(b.engine.pause(Scope::link, "link.example", b.now(), b.out));
    CHECK(b.engine.pause(Scope::pool, "bulk", b.now(), b.out));
    b.run();
    CHECK(due_next(b) == Ids{free});
    CHECK(b.engine.release(held, b.now(), b.out));
    CHECK(b.engine.resume(Scope::queue, "queue.example", b.now(), b.out));
    CHECK(b.engine.resume(Scope::link, "link.example", b.now(), b.out));
    CHECK(b.engine.resume(Scope::pool, "bulk", b.now(), b.out));
    b.run();
    CHECK(due_next(b).size() == 5);
}

TEST_CASE("due next: scheduled mail by its time") {
    Bench b;
    Accepted later;
    later.not_before = b.now().wall + 1h;
    const auto scheduled = b.send({"d.example"}, later);
    const auto after = restored(b, 8min), before = restored(b, 2min);
    CHECK(due_next(b) == Ids{before, after, scheduled});
}

TEST_CASE("the time of scheduled mail is shown as it was asked for, however the readings of the clocks differ") {
    Bench b;
    const auto at = b.now().wall + 1h;
    const auto id = b.send({"d.example"}, {.not_before = at});
    for (const auto extra : {0us, -1us, 1us, -400'000us}) {
        b.wall_extra = extra;
        b.pass(1s);
        CHECK(b.engine.explain(id).at(0).next_attempt == at);
        CHECK(b.engine.message(id, b.now())->deliveries.at(0).next_attempt == at);
    }
}

TEST_CASE("the next try of restored mail is shown in whole seconds, however the readings of the clocks differ") {
    Bench b;
    const auto at = b.now().wall + 5min;
    const auto id = restored(b, 5min);
    for (const auto extra : {0us, -1us, 1us, -400'000us}) {
        b.wall_extra = extra;
        b.send({"other.example"});
        CHECK(b.engine.message(id, b.now())->deliveries.at(0).next_attempt == at);
    }
}

TEST_CASE("a link whose due mail is all paused says which queue is, and has no next try") {
    Bench b;
    CHECK(b.engine.pause(Scope::queue, "d.example", b.now(), b.out));
    b.send({"d.example"});
    b.run();
    const auto link = b.link("d.example");
    CHECK(link.due == 1);
    CHECK(link.idle_reason == "queue d.example is paused");
    CHECK(link.paused_by == PausedObject{Scope::queue, "d.example"});
    CHECK(link.next_attempt == smtp::WallTime{});
    CHECK(b.queue("d.example").paused_by == PausedObject{Scope::queue, "d.example"});
}

TEST_CASE("what is paused has no next try in any listing, whatever its ladder says") {
    for (const auto& [scope, name] : {std::pair{Scope::everything, ""}, std::pair{Scope::queue, "d.example"},
                                      std::pair{Scope::link, "d.example"}}) {
        CAPTURE(static_cast<int>(scope));
        Bench b;
        const auto id = failed(b);
        CHECK(b.engine.explain(id).at(0).next_attempt != smtp::WallTime{});
        CHECK(b.link("d.example").next_attempt != smtp::WallTime{});
        CHECK(b.engine.pause(scope, name, b.now(), b.out));
        CHECK(b.engine.message(id, b.now())->deliveries.at(0).next_attempt == smtp::WallTime{});
        CHECK(b.engine.message(id, b.now())->deliveries.at(0).paused_by == PausedObject{scope, name});
        CHECK(b.engine.explain(id).at(0).next_attempt == smtp::WallTime{});
        CHECK(b.queue("d.example").next_attempt == smtp::WallTime{});
        if (scope != Scope::queue) CHECK(b.link("d.example").next_attempt == smtp::WallTime{});
    }
}

TEST_CASE("held mail has no next try, and its link none to make") {
    Bench b;
    const auto id = failed(b);
    CHECK(b.engine.hold(id, b.now(), b.out));
    CHECK(b.engine.explain(id).at(0).next_attempt == smtp::WallTime{});
    CHECK(b.link("d.example").idle_reason == "nothing is due");
    CHECK(b.link("d.example").next_attempt == smtp::WallTime{});
}

TEST_CASE("where all waits for its own time, queue and link say when the next is") {
    Bench b;
    const auto id = b.send({"d.example"});
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    b.pass(5s); // nobody needs the connection
    const auto next = b.engine.message(id, b.now())->deliveries.at(0).next_attempt;
    REQUIRE(next != smtp::WallTime{});
    CHECK(b.engine.queues(b.now(), Ages::yes).at(0).next_attempt == next);
    CHECK(b.engine.links(b.now(), Ages::yes).at(0).next_attempt == next);
    CHECK(b.link("d.example").idle_reason == "no waiting message is due yet");
    CHECK(b.engine.pause(Scope::queue, "d.example", b.now(), b.out));
    CHECK(b.link("d.example").idle_reason == "queue d.example is paused");
    CHECK(b.engine.links(b.now(), Ages::yes).at(0).next_attempt == smtp::WallTime{});
}

TEST_CASE("a queue whose link is not well says so, and its problem messages are counted wherever they wait") {
    Bench b(Bench::exact());
    b.send({"x.example"});
    for (int n = 0; n < 3; ++n) { // two failures of its own: a problem message
        while (b.handed.empty()) b.pass(1min);
        b.answer(b.take(), Outcome::deferred, FailureKind::message);
    }
    auto queues = b.engine.queues(b.now(), Ages::yes);
    REQUIRE(queues.size() == 1);
    CHECK(queues[0].problem == 1);
    CHECK(queues[0].due == 0);

    Bench c(Bench::exact());
    c.connects = false;
    c.send({"x.example"});
    c.refuse(c.opened.front());
    const auto queue = c.queue("x.example");
    CHECK(queue.of_link);
    CHECK(queue.health == Health::glitch);
    CHECK(queue.failures == 1);
    CHECK(queue.last_error == c.reason);
    CHECK(queue.next_attempt == c.now().wall + 60s);
}

TEST_CASE("mail that waits for its own time is counted by its link, with the reason of the last") {
    Bench b(Bench::exact());
    for (int n = 0; n < 3; ++n) b.send({"x.example"});
    const Reason grey{"4.2.0", "450 4.2.0 greylisted", "", ""};
    while (!b.handed.empty()) {
        const auto h = b.take();
        b.answer(h, {{0, Outcome::deferred, FailureKind::recipient, PushBack::no, SuccessReport::none, &grey}});
    }
    CHECK(b.link("x.example").waiting == 3);
    CHECK(b.link("x.example").last_deferral == grey);
    CHECK(b.link("x.example").due == 0);
}

TEST_CASE("a link whose mail is paused has no next try") {
    Bench b(Bench::exact());
    b.connects = false;
    b.send({"x.example"});
    b.refuse(b.opened.front());
    CHECK(b.link("x.example").next_attempt != smtp::WallTime{});
    b.engine.pause(Scope::queue, "x.example", b.now(), b.out);
    b.run();
    CHECK(b.link("x.example").next_attempt == smtp::WallTime{});
}

TEST_CASE("messages in order, and the list goes on behind any of them") {
    Bench b(Bench::exact());
    b.connects = false;
    std::vector<std::uint64_t> ids;
    for (int n = 0; n < 10; ++n) {
        Accepted how;
        how.size = static_cast<std::uint64_t>(n % 3);
        ids.push_back(b.send({"x.example"}, how).value);
    }
    const auto list = [&](Order order, std::size_t at_a_time) {
        std::vector<std::uint64_t> out;
        std::optional<Rank> behind;
        while (true) {
            const auto some = b.engine.ranked(order, behind, at_a_time);
            if (some.empty()) return out;
            CHECK(some.size() <= at_a_time);
            for (const auto& each : some) out.push_back(each.id);
            behind = some.back();
        }
    };
    for (const std::size_t at_a_time : {1, 3, 10, 100}) {
        CHECK(list(Order::oldest, at_a_time) == ids);
        CHECK(list(Order::newest, at_a_time) == std::vector(ids.rbegin(), ids.rend()));
        const auto by_size = list(Order::largest, at_a_time);
        CHECK(by_size == std::vector{ids[2], ids[5], ids[8], ids[1], ids[4], ids[7], ids[0], ids[3], ids[6], ids[9]});
        CHECK(list(Order::next, at_a_time).size() == 10);
    }
    const auto third = b.engine.rank(spool::QueueId{ids[2]}, Order::oldest);
    REQUIRE(third);
    CHECK(b.engine.ranked(Order::oldest, third, 1).front().id == ids[3]);
    CHECK_FALSE(b.engine.rank(spool::QueueId{1}, Order::oldest));
}

TEST_CASE("a message's listing and explanation leave out the deliveries of other recipients than those asked for") {
    Bench b;
    b.connects = false;
    const auto id = b.send({"a.example", "b.example", "c.example", "d.example"});
    const auto queues = [&](const RecipientRange& range) {
        std::vector<std::string> out;
        for (const auto& each : b.engine.explain(id, range)) out.push_back(each.queue);
        std::ranges::sort(out);
        return out;
    };
    using Names = std::vector<std::string>;
    CHECK(queues({}).size() == 4);
    CHECK(queues({.first = 1, .last = 2}) == Names{"b.example", "c.example"});
    CHECK(queues({.first = 9, .last = 10}) == Names{});
    CHECK(queues({.first = 1, .last = 0}) == Names{});
    const auto info = b.engine.message(id, b.now(), {.first = 2, .last = 2});
    REQUIRE(info);
    REQUIRE(info->deliveries.size() == 2); // the first, whose state is the message's
    CHECK(info->deliveries[0].queue == b.engine.message(id, b.now())->deliveries[0].queue);
    CHECK(info->deliveries[1].queue == "c.example");
}

TEST_CASE("links and queues in parts: those with the most mail first, then by name") {
    Bench b;
    b.connects = false;
    for (int n = 0; n < 9; ++n) b.send({"busy.example"});
    for (const char* name : {"c.example", "a.example", "d.example", "b.example"}) b.send({name});
    const auto check = [&](auto list, auto name) {
        std::vector<std::string> names;
        BusiestFirst part{.at_most = 2, .behind = {}};
        for (;;) {
            const auto some = list(part);
            if (some.empty()) break;
            CHECK(some.size() <= 2);
            for (const auto& each : some) names.push_back(name(each));
            part.behind = {some.back().deliveries, names.back()};
            REQUIRE(names.size() < 10);
        }
        CHECK(names == std::vector<std::string>{"busy.example", "a.example", "b.example", "c.example", "d.example"});
    };
    const auto name_of_queue = [](const QueueInfo& each) { return each.name; };
    check([&](const BusiestFirst& part) { return b.engine.queues("", b.now(), part); }, name_of_queue);
    check([&](const BusiestFirst& part) { return b.engine.links(b.now(), Ages::yes, part); },
          [&](const LinkInfo& each) { return each.name; });
    const auto whole = b.engine.links(b.now(), Ages::yes);
    for (const auto& each : whole) {
        const auto one = b.engine.link(each.name, b.now());
        REQUIRE(one);
        CHECK(one->deliveries == each.deliveries);
        CHECK(one->oldest == each.oldest);
        const auto queues = b.engine.queues(each.name, b.now(), {.at_most = 9, .behind = {}});
        REQUIRE(queues.size() == 1);
        CHECK(queues[0].oldest == each.oldest);
        CHECK(b.engine.queue(queues[0].name, b.now())->deliveries == each.deliveries);
    }
    CHECK_FALSE(b.engine.link("other.example", b.now()));
    CHECK_FALSE(b.engine.queue("", b.now()));
    CHECK(b.engine.queues("other.example", b.now(), {.at_most = 9, .behind = {}}).empty());
}
