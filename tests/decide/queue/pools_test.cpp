// Pools of source addresses: queues and links of their own, whoever names the pool.
#include "tests/decide/queue/bench.h"
#include <algorithm>

using namespace decide::queue;
using namespace decide::queue::test;

TEST_CASE("a pool has queues and links of its own: what one's link suffers, the other's does not") {
    Bench b;
    b.connects = false;
    b.send({"x.example"});
    b.send({"x.example"}, {.pool = "bulk"});
    REQUIRE(b.opened.size() == 2);
    CHECK(b.queue("x.example").link == "x.example");
    CHECK(b.queue("x.example").pool == "");
    CHECK(b.queue("x.example@bulk").link == "x.example@bulk");
    CHECK(b.queue("x.example@bulk").pool == "bulk");
    CHECK(b.link("x.example@bulk").pool == "bulk");
    b.refuse(b.opened[1]);
    CHECK(b.link("x.example@bulk").failures == 1);
    CHECK(b.link("x.example").failures == 0);
    b.up(b.opened[0]);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed.size() == 1);
    CHECK(b.queue("x.example@bulk").deliveries == 1);
}

TEST_CASE("recipients of one message to one domain share its pool's queue, and the router is asked once") {
    Bench b;
    b.send({"x.example", "x.example"}, {.pool = "bulk"});
    CHECK(b.lookups == std::vector<std::string>{"x.example"});
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().numbers.size() == 2);
}

TEST_CASE("a pool that the route names: the queue stays the domain's, the link is the pool's, and so is the pause") {
    Bench b;
    b.link_of["x.example"] = "relay@bulk";
    b.send({"x.example"});
    CHECK(b.queue("x.example").pool == "bulk");
    CHECK(b.queue("x.example").link == "relay@bulk");
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.engine.knows(Scope::pool, "bulk"));
    CHECK(b.engine.pause(Scope::pool, "bulk", b.now(), b.out));
    b.send({"x.example"});
    CHECK(b.handed.empty());
    CHECK(b.queue("x.example").paused);
    // Mail that names another pool goes on.
    b.send({"x.example"}, {.pool = "vip"});
    CHECK(b.handed.size() == 1);
    CHECK(b.queue("x.example@vip").link == "relay@vip");
    CHECK(b.engine.resume(Scope::pool, "bulk", b.now(), b.out));
    b.run();
    CHECK(b.handed.size() == 2);
}

TEST_CASE("a pool that was paused before its route was known") {
    Bench b;
    CHECK(b.engine.pause(Scope::pool, "bulk", b.now(), b.out));
    b.link_of["x.example"] = "relay@bulk";
    b.send({"x.example"});
    CHECK(b.handed.empty());
    CHECK(b.engine.resume(Scope::pool, "bulk", b.now(), b.out));
    b.run();
    CHECK(b.handed.size() == 1);
}

TEST_CASE("a pool is forced with all links it uses") {
    Bench b;
    b.connects = false;
    b.link_of["x.example"] = "relay@bulk";
    b.send({"x.example"});
    b.send({"y.example"}, {.pool = "bulk"});
    b.send({"z.example"});
    while (!b.opened.empty()) b.refuse(b.opened.front());
    b.tries.clear();
    CHECK(b.engine.force(Scope::pool, "bulk", b.now(), b.out));
    b.run();
    CHECK(b.tries.size() == 2);
    CHECK_FALSE(b.engine.force(Scope::pool, "nobody", b.now(), b.out));
}

TEST_CASE("links from different pools are down each for itself") {
    Bench b;
    b.connects = false;
    b.link_of["x.example"] = "relay";
    b.send({"x.example"}, {.pool = "bulk"});
    const auto until = b.time + 20min;
    while (b.time < until) {
        while (!b.opened.empty()) b.refuse(b.opened.front());
        b.pass(1s);
    }
    CHECK(b.link("relay@bulk").down);
    REQUIRE(!b.link_states.empty());
    CHECK(std::ranges::all_of(b.link_states, [](auto& each) { return each.first == "relay@bulk"; }));
    b.connects = true;
    b.send({"x.example"});
    CHECK(b.queue("x.example").link == "relay");
    CHECK_FALSE(b.link("relay").down);
    CHECK(b.handed.size() == 1);
}

TEST_CASE("from a pool that is paused a link that is down is not even probed") {
    Bench b;
    b.connects = false;
    b.link_of["x.example"] = "relay";
    b.on_link_state = [&](const std::string&, bool) { b.link_of["x.example"] = "other"; };
    b.send({"x.example"}, {.pool = "bulk"});
    const auto nobody_answers = [&](smtp::Duration during) {
        std::size_t tries = 0;
        for (const auto until = b.time + during; b.time < until; b.pass(1s))
            for (; !b.opened.empty(); ++tries) b.refuse(b.opened.front());
        return tries;
    };
    nobody_answers(20min);
    REQUIRE(b.link("relay@bulk").down);
    CHECK(nobody_answers(1h) > 0);
    CHECK(b.engine.pause(Scope::pool, "bulk", b.now(), b.out));
    CHECK(nobody_answers(1h) == 0);
    CHECK(b.engine.resume(Scope::pool, "bulk", b.now(), b.out));
    b.run();
    CHECK(nobody_answers(1h) > 0);
}
