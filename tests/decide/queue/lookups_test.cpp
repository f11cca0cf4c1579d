// Who is looked up first; that rates are reached though timers come late; and that a reload changes what agents may do.
#include "tests/decide/queue/bench.h"
#include <fmt/format.h>
#include <set>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

struct Slow : Bench {
    Slow() { routes = false; } // the router says nothing by itself
    void nobody_answers(std::string_view domain) {
        Routed r;
        r.domain = domain;
        r.kind = RouteKind::temporary;
        r.reason = &reason;
        engine.routed(r, now(), out);
        run();
    }
    void send_to_dead(int count) {
        for (int n = 0; n < count; ++n) send({fmt::format("dead{}.example", n)});
    }
    bool asked_about(const std::string& domain) const { return std::ranges::count(lookups, domain) > 0; }
};

// As pass(), but every timer is served so much after its time.
void pass_late(Bench& b, smtp::Duration by, smtp::Duration late) {
    const smtp::Duration until = b.time + by;
    while (true) {
        const auto next = b.engine.next_timer();
        if (!next || *next + late > smtp::Monotonic(1h + until)) break;
        b.time = std::max(b.time, *next + late - smtp::Monotonic(1h));
        b.engine.timer(b.now(), b.out);
        b.run();
        while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
    }
    b.time = until;
}

} // namespace

TEST_CASE("a thousand domains that nobody answers for delay no first look-up") {
    Slow b;
    b.send_to_dead(1000);
    b.pass(1s);
    b.send({"fresh.example"});
    CHECK(b.asked_about("fresh.example"));
}

TEST_CASE("domains that failed are asked about again, a thousand at a time, behind those that did not") {
    Slow b;
    b.send_to_dead(3000);
    for (const auto& domain : std::exchange(b.lookups, {})) b.nobody_answers(domain);
    b.pass(70s); // routing_retry
    CHECK(b.lookups.size() == 1000);
    b.send({"fresh.example"});
    CHECK(b.lookups.back() == "fresh.example");
    // As they fail, the others have their turn, and nobody twice.
    std::set<std::string> seen;
    while (seen.size() < 3000) {
        const auto asked = std::exchange(b.lookups, {});
        REQUIRE(!asked.empty());
        CHECK(asked.size() <= 1001);
        for (const auto& domain : asked) {
            if (domain == "fresh.example") continue;
            CHECK(seen.insert(domain).second);
            b.nobody_answers(domain);
        }
    }
    // A router that is started anew is asked everything again, within the same bounds.
    b.pass(2min);
    b.engine.service(Service::router, Presence::down, b.now(), b.out);
    b.run();
    b.lookups.clear();
    b.engine.service(Service::router, Presence::up, b.now(), b.out);
    b.run();
    CHECK(b.lookups.front() == "fresh.example");
    CHECK(b.lookups.size() == 1001);
}

TEST_CASE("a domain whose DNS fails is tried every quarter of an hour at least") {
    Slow b;
    b.send({"dead.example"});
    std::vector<double> tries;
    for (int n = 0; n < 40; ++n) {
        if (!std::exchange(b.lookups, {}).empty()) {
            tries.push_back(b.seconds());
            b.nobody_answers("dead.example");
        }
        b.pass(5min);
    }
    REQUIRE(tries.size() > 10);
    for (std::size_t n = 1; n < tries.size(); ++n) CHECK(tries[n] - tries[n - 1] <= 15 * 60);
}

TEST_CASE("a rate is reached though every timer is late, and not exceeded") {
    for (const auto late : {0ms, 1ms, 2ms, 7ms}) {
        Settings s = Bench::exact();
        s.routes["bulk"].messages_per_second = 200;
        Bench b(s);
        b.rule = "bulk";
        for (int n = 0; n < 3000; ++n) b.send({"bulk.example"});
        while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
        const auto before = b.queue("bulk.example").deliveries;
        pass_late(b, 10s, late);
        const auto sent = before - b.queue("bulk.example").deliveries;
        CAPTURE(late.count());
        CHECK(sent >= 1980);
        CHECK(sent <= 2001);
        // Idleness is no credit: what comes after it keeps its distance from the first on.
        b.pass(1h);
        while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
        pass_late(b, 1h, 0ms);
        CHECK(b.queue("bulk.example").deliveries == 0);
        for (int n = 0; n < 10; ++n) b.send({"bulk.example"});
        CHECK(b.handed.size() == 1);
    }
}

TEST_CASE("a reload changes how many connections the agents may have, at once") {
    Settings s = Bench::exact();
    s.connections_total = 2;
    Bench b(s);
    b.engine.configure(s, b.now(), b.out);
    b.run();
    b.connects = false;
    for (int n = 0; n < 10; ++n) b.send({fmt::format("d{}.example", n)});
    CHECK(b.opened.size() == 2);
    s.connections_total = 5;
    b.engine.configure(s, b.now(), b.out);
    b.run();
    b.pass(1s);
    CHECK(b.opened.size() == 5);
    s.connections_total = 3;
    b.engine.configure(s, b.now(), b.out);
    b.run();
    b.refuse(b.opened.front());
    b.refuse(b.opened.front());
    b.refuse(b.opened.front());
    b.pass(1s);
    CHECK(b.opened.size() == 3);
}

TEST_CASE("local deliveries: a reload lowers their number at once; more need an agent with more threads") {
    Settings s = Bench::exact();
    s.connections_local = 100; // as its agent has attached
    Bench b(s);
    const auto under_way = [&](std::uint32_t wanted) {
        s.connections_local = wanted;
        b.engine.configure(s, b.now(), b.out);
        b.run();
        for (int n = 0; n < 300; ++n) b.send({fmt::format("local/user{}", n)});
        const auto out = b.handed.size();
        while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
        return out;
    };
    CHECK(under_way(5) == 5);
    CHECK(under_way(100) == 100);
    CHECK(under_way(200) == 100);
}
