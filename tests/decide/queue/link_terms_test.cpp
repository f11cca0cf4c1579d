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

namespace {

// What the route of a configured hop demands, and that does not do.
void no_tls(Bench& b, ConnectionId connection) {
    std::erase_if(b.handed, [&](const Handed& each) { return each.connection == connection; });
    std::erase(b.opened, connection);
    static const Reason reason{"4.7.5", "TLS is required, but was not offered", "", ""};
    Closed closed{connection, true, false, Phase::session, PushBack::no, &reason};
    closed.policy = true;
    b.engine.closed(closed, b.now(), b.out);
    b.run();
}

// As above, and both by one hop that the configuration names.
struct Hop : Shared {
    explicit Hop(RouteSettings yahoo = {}) : Shared(yahoo) {
        route_kind["yahoo.example"] = route_kind["aol.example"] = RouteKind::configured;
        connects = false;
    }
};

} // namespace

TEST_CASE("a hop without the TLS that its one route demands: the link's failure, and it goes down") {
    Hop b;
    b.send({"yahoo.example"});
    REQUIRE(b.opened.size() == 1);
    no_tls(b, b.opened.front());
    CHECK(b.link("mx").health == Health::glitch);
    for (int minutes = 0; minutes < 30 && !b.link("mx").down; ++minutes) {
        while (!b.opened.empty()) no_tls(b, b.opened.front());
        b.pass(1min);
    }
    CHECK(b.link("mx").down);
}

TEST_CASE("a hop without the TLS that one of its routes demands serves the other") {
    Hop b;
    b.connects = true;
    b.send({"aol.example"});
    while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
    b.connects = false;
    b.pass(2min); // its connection has been closed
    b.send({"yahoo.example"});
    REQUIRE(!b.opened.empty());
    while (!b.opened.empty()) no_tls(b, b.opened.front());
    CHECK(b.link("mx").health == Health::ready);
    CHECK(b.queue("yahoo.example").health == Health::glitch);
    CHECK(b.queue("yahoo.example").last_error.text == "TLS is required, but was not offered");
    b.connects = true;
    b.send({"aol.example"});
    CHECK(b.handed_to("aol.example") == 1);
}

TEST_CASE("several connections that fail at once for what a route demands are one failure of its queue") {
    Hop b;
    b.send({"aol.example"});
    while (!b.opened.empty()) b.up(b.opened.front()), b.opened.erase(b.opened.begin());
    b.pass(2s); // a transaction takes so long: one connection is not enough
    while (!b.handed.empty()) b.answer(b.take(), Outcome::delivered);
    b.pass(2min);
    for (int n = 0; n < 200; ++n) b.send({"yahoo.example"});
    REQUIRE(b.opened.size() > 1);
    const auto opened = b.opened;
    for (const auto each : opened) no_tls(b, each);
    CHECK(b.queue("yahoo.example").failures == 1);
    CHECK(b.queue("yahoo.example").health == Health::glitch);
    CHECK(b.link("mx").failures == 0);
}

TEST_CASE(
    "refused credentials: mail waits, or goes back where its route says so, and the link is tried no more often") {
    for (const auto rule : {RouteSettings::AuthFailure::wait, RouteSettings::AuthFailure::giving_back}) {
        const bool gives_back = rule == RouteSettings::AuthFailure::giving_back;
        CAPTURE(gives_back);
        Hop b({.auth_failure = rule});
        for (int n = 0; n < 30; ++n) b.send({"yahoo.example"});
        b.send({"aol.example"});
        static const Reason reason{"4.7.8", "535 5.7.8 Error: authentication failed", "", ""};
        int logins = 0;
        for (int seconds = 0; seconds < 50; ++seconds) {
            while (!b.opened.empty()) {
                const auto connection = b.opened.front();
                std::erase_if(b.handed, [&](const Handed& each) { return each.connection == connection; });
                std::erase(b.opened, connection);
                Closed closed{connection, true, false, Phase::session, PushBack::no, &reason};
                closed.credentials = true;
                ++logins;
                b.engine.closed(closed, b.now(), b.out);
                b.run();
            }
            b.pass(1s);
        }
        b.pass(5s);
        CHECK(logins <= 4);
        CHECK(b.queue("yahoo.example").deliveries == (gives_back ? 0 : 30));
        CHECK(b.queue("aol.example").deliveries == 1); // its route says nothing of the kind
        CHECK(b.engine.counts().messages == (gives_back ? 1 : 31));
    }
}
