// Several domains share a link: of each of its numbers the strictest holds, and what is a domain's own stays with it.
#include "tests/decide/queue/bench.h"
#include <algorithm>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// yahoo.example, which has rules, and aol.example, which is looked up after it, by the same hosts.
struct Shared : Bench {
    explicit Shared(RouteSettings yahoo, RouteSettings aol = {}) : Bench(settings(yahoo, aol)) {
        link_of["yahoo.example"] = link_of["aol.example"] = "mx";
        route_kind["yahoo.example"] = route_kind["aol.example"] = RouteKind::mx;
        rule_of["yahoo.example"] = "yahoo";
        rule_of["aol.example"] = "aol";
    }
    static Settings settings(RouteSettings yahoo, RouteSettings aol) {
        Settings s = exact();
        s.routes["yahoo"] = yahoo;
        s.routes["aol"] = aol;
        return s;
    }
    std::size_t handed_to(std::string_view domain) {
        return static_cast<std::size_t>(
            std::ranges::count_if(handed, [&](const Handed& h) { return recipients[h.id.value][0] == domain; }));
    }
};

} // namespace

TEST_CASE("a shared link: the strictest limit of connections, whichever domain was looked up last") {
    Shared b({});
    b.limit_of["yahoo.example"] = 2;
    b.send({"yahoo.example"});
    b.send({"aol.example"});
    CHECK(b.link("mx").limit == 2);
    b.limit_of["aol.example"] = 1;
    b.engine.routes_changed(b.now(), b.out);
    b.send({"aol.example"});
    b.send({"yahoo.example"});
    CHECK(b.link("mx").limit == 1);
}

TEST_CASE("a shared link: a rule that is no longer used holds no longer") {
    Shared b({});
    b.limit_of["yahoo.example"] = 2;
    b.send({"yahoo.example"});
    b.send({"aol.example"});
    while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
    for (int n = 0; n < 12; ++n) { // forget_after is 10 min
        b.pass(1min);
        b.send({"aol.example"});
        while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
    }
    b.send({"aol.example"});
    CHECK(b.link("mx").limit == 20);
}

TEST_CASE("a shared link: the strictest rate") {
    Shared b({.messages_per_second = 1});
    b.send({"yahoo.example"});
    b.send({"aol.example"});
    for (int n = 0; n < 4; ++n) b.send({"yahoo.example"});
    CHECK(b.handed.size() <= 2); // one went before the other's route was known
    b.pass(2s);
    CHECK(b.handed.size() <= 4);
}

TEST_CASE("a shared link climbs by the ladder of the domain whose mail failed on it") {
    Shared b({.glitch_interval = 5s});
    b.connects = false;
    b.send({"yahoo.example"});
    const Handed first = b.take();
    b.send({"aol.example"}); // looked up, it waits
    b.refuse(first.connection);
    CHECK(b.link("mx").next_attempt == b.now().wall + 5s);
}

TEST_CASE("a connection that was authenticated for one domain takes no mail of another that does so otherwise") {
    Shared b({});
    b.auth_of["yahoo.example"] = "scram";
    b.limit_of["yahoo.example"] = 1; // one connection at a time
    b.send({"yahoo.example"});
    const Handed first = b.take();
    b.send({"aol.example"});
    b.send({"yahoo.example"});
    b.answer(first, Outcome::delivered);
    REQUIRE(!b.handed.empty());
    CHECK(b.handed_to("yahoo.example") == 1); // over the same
    CHECK(b.take().connection == first.connection);
    b.answer(b.take(), Outcome::delivered); // it is idle now, in the other's way
    REQUIRE(b.handed.size() == 1);
    CHECK(b.handed_to("aol.example") == 1);
    CHECK(b.take().connection != first.connection);
}
