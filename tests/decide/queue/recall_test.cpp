// A connection that does not move keeps nobody else's mail; what expired or is removed does not stay in flight for
// ever.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// A quick host, so that much is handed over ahead of its turn; then its first connection moves no more. How many of the
// messages handed to it are delivered within so many seconds, by others.
struct Stall {
    explicit Stall(std::uint32_t connections = 20) {
        Settings s = Bench::exact();
        s.connections_route = s.window_start_route = connections;
        b = std::make_unique<Bench>(s);
        for (int n = 0; n < 400; ++n) b->send({"quick.example"});
        while (b->removed.size() < 300 && !b->handed.empty()) {
            b->pass(200us);
            b->answer(b->take(), Outcome::delivered);
        }
        stalled = b->take().connection;
        tied = count();
        before = b->removed.size();
    }
    std::size_t count() const {
        return static_cast<std::size_t>(std::ranges::count(b->handed, stalled, &Handed::connection));
    }
    void live(smtp::Duration time) {
        for (smtp::Duration t{}; t < time; t += 10ms) {
            b->pass(10ms);
            for (bool some = true; some;) {
                const auto next = std::ranges::find_if(b->handed, [&](auto& h) { return h.connection != stalled; });
                some = next != b->handed.end();
                if (some) b->answer(Handed(*next), Outcome::delivered);
            }
        }
    }
    std::unique_ptr<Bench> b;
    ConnectionId stalled = 0;
    std::size_t tied = 0, before = 0;
};

} // namespace

TEST_CASE("one stalled connection keeps what it has begun, and nothing else") {
    Stall s;
    REQUIRE(s.tied > 10);
    s.live(3s);
    MESSAGE("tied to the connection: ", s.tied, ", after 3 s: ", s.count());
    CHECK(s.count() <= 2);
    CHECK(s.b->removed.size() == 400 - s.count());
    CHECK(s.b->deferrals.empty()); // nobody was tried
    // It gets nothing more before it moves.
    const auto more = s.b->send({"quick.example"});
    s.live(1s);
    CHECK(std::ranges::count(s.b->removed, more) == 1);
    CHECK(s.b->recalls == 1);
    while (s.count() > 0) s.b->answer(s.b->take(), Outcome::delivered);
    CHECK(s.b->engine.counts().messages == 0);
}

TEST_CASE("with one connection allowed, what waits behind a stall is free to be seen, removed and rerouted") {
    Stall s(1);
    REQUIRE(s.tied > 10);
    s.live(3s);
    CHECK(s.count() <= 2);
    CHECK(s.b->engine.counts().active == s.count());
    s.b->answer(s.b->take(), Outcome::delivered);
    s.live(1s);
    for (int n = 0; n < 400 && !s.b->handed.empty(); ++n) s.b->answer(s.b->take(), Outcome::delivered);
    CHECK(s.b->engine.counts().messages == 0);
}

TEST_CASE("what is in flight when it expires is ended, and its sender is told") {
    Bench b;
    const auto id = b.send({"slow.example"});
    b.pass(24h * 5 - 1h);
    CHECK(b.cuts.empty());
    b.pass(1h + 20min);
    CHECK(b.cuts.size() == 1);
    CHECK(b.expired == std::vector{id});
    REQUIRE(b.reports.size() == 1);
    CHECK(b.reports[0].recipients[0].reason.status == "4.4.7");
    CHECK(b.engine.counts().messages == 0);
}

TEST_CASE("what cannot be stopped any more is waited for") {
    Bench b;
    b.stops = false;
    const auto id = b.send({"slow.example"});
    b.pass(24h * 5 + 1h);
    CHECK(b.cuts.size() == 1);
    CHECK(b.expired.empty());
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("mail that is only just being delivered when it expires is left alone") {
    Bench b;
    b.answer((b.send({"d.example"}), b.take()), Outcome::deferred, FailureKind::recipient);
    for (smtp::Duration t{}; t < 24h * 5 - 30min; t += 1min) {
        b.pass(1min);
        while (!b.handed.empty()) b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    }
    b.pass(16min);
    REQUIRE(b.handed.size() == 1);
    b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
    b.pass(15min);
    CHECK(b.cuts.empty());
}

TEST_CASE("by backlog: a connection for twenty messages, and a further one for twenty more") {
    Settings s = Bench::exact();
    s.window_start_route = 100;
    s.routes["few.example"].by_backlog = true;
    for (const bool by_backlog : {false, true}) {
        Bench b(s);
        b.rule = by_backlog ? "few.example" : "";
        b.connects = false;
        for (int n = 0; n < 100; ++n) b.send({"few.example"});
        b.pass(2s); // nothing completes: the remote host takes its time
        MESSAGE("100 messages, connections: ", b.opened.size());
        if (by_backlog)
            CHECK(b.opened.size() == 5);
        else
            CHECK(b.opened.size() > 20);
    }
}
