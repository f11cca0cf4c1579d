// Domains with MX names of their own that are all one host: what that host has to bear is limited all the same.
#include "tests/decide/queue/bench.h"
#include <algorithm>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// These domains have each an MX host of its own, all at one address.
struct OneHost : Bench {
    OneHost(Settings s, std::vector<std::string> domains) : Bench(s) {
        for (const auto& domain : domains) {
            route_kind[domain] = RouteKind::mx;
            address_of[domain] = "192.0.2.1:25";
        }
    }
};

Settings at_most(std::uint32_t connections) {
    Settings s = Bench::exact();
    s.connections_per_address = connections;
    s.window_start = 20;
    return s;
}

} // namespace

TEST_CASE("one address holds so many connections, whatever links lead there, and nothing has failed") {
    OneHost b(at_most(3), {"a.example", "b.example"});
    for (int n = 0; n < 20; ++n) {
        b.send({"a.example"});
        b.send({"b.example"});
    }
    b.pass(30s); // slow as they are, more are wanted
    CHECK(b.opened.size() == 3);
    CHECK(b.link("a.example").connections + b.link("b.example").connections == 3);
    for (const auto& name : {"a.example", "b.example"}) {
        CHECK(b.link(name).health == Health::ready);
        CHECK(b.link(name).failures == 0);
    }
    CHECK(b.deferrals.empty());
    CHECK(b.link_events.empty());
}

TEST_CASE("the link that finds no room says so, with the address and its limit") {
    OneHost b(at_most(1), {"a.example", "b.example"});
    b.send({"a.example"});
    b.send({"b.example"});
    const auto waits = b.link("b.example");
    CHECK(waits.at_address_limit);
    CHECK(waits.idle_reason == "192.0.2.1:25 has reached the connection limit per address: 1 of 1");
    REQUIRE(waits.addresses.size() == 1);
    CHECK(waits.addresses[0].own == 0);
    const auto has = b.link("a.example");
    REQUIRE(has.addresses.size() == 1);
    CHECK(has.addresses[0].name == "192.0.2.1:25");
    CHECK(has.addresses[0].connections == 1);
    CHECK(has.addresses[0].own == 1);
    CHECK(has.addresses[0].limit == 1);
}

TEST_CASE("who waits longest is called when a place comes free; a flood for one domain starves none") {
    Settings s = at_most(1);
    s.messages_per_connection = 2;
    OneHost b(s, {"flood.example", "b.example", "c.example"});
    for (int n = 0; n < 10; ++n) b.send({"flood.example"});
    b.send({"b.example"});
    b.send({"c.example"});
    std::vector<std::string> order;
    while (!b.handed.empty()) {
        order.push_back(b.recipients[b.take().id.value].front());
        b.answer(b.take(), Outcome::delivered);
    }
    REQUIRE(order.size() == 12);
    CHECK(order[2] == "b.example");
    CHECK(order[3] == "c.example");
}

TEST_CASE("an idle connection gives its place to who waits for that address") {
    OneHost b(at_most(1), {"a.example", "b.example"});
    b.send({"a.example"});
    b.send({"b.example"});
    CHECK(b.handed.size() == 1);
    b.answer(b.take(), Outcome::delivered);
    REQUIRE(b.handed.size() == 1);
    CHECK(b.recipients[b.take().id.value].front() == "b.example");
}

TEST_CASE("the address tried before is given back, so a walk over addresses holds one place") {
    Settings s = at_most(1);
    Bench b(s);
    b.connects = false;
    for (const char* domain : {"a.example", "b.example"}) b.route_kind[domain] = RouteKind::mx;
    b.send({"a.example"});
    b.send({"b.example"});
    REQUIRE(b.opened.size() == 2);
    const auto may = [&](std::size_t which, std::string_view address) {
        return b.engine.may_connect(b.opened[which], address, AddressRequest::replace, b.now(), b.out);
    };
    CHECK(may(0, "192.0.2.1:25"));
    CHECK_FALSE(may(1, "192.0.2.1:25"));
    CHECK(may(1, "192.0.2.2:25"));
    CHECK_FALSE(may(0, "192.0.2.2:25")); // and its place at the first has gone
    CHECK(may(1, "192.0.2.1:25"));
    CHECK(may(0, "192.0.2.2:25"));
    CHECK_FALSE(
        b.engine.may_connect(12345, "192.0.2.3:25", AddressRequest::replace, b.now(), b.out)); // nobody's connection
}

TEST_CASE("addresses that race hold a place each; those that lose give theirs back") {
    Bench b(at_most(1));
    b.connects = false;
    for (const char* domain : {"a.example", "b.example"}) b.route_kind[domain] = RouteKind::mx;
    b.send({"a.example"});
    b.send({"b.example"});
    REQUIRE(b.opened.size() == 2);
    const auto may = [&](std::size_t which, std::string_view address, AddressRequest request) {
        return b.engine.may_connect(b.opened[which], address, request, b.now(), b.out);
    };
    CHECK(may(0, "[2001:db8::1]:25", AddressRequest::replace));
    CHECK(may(0, "192.0.2.1:25", AddressRequest::add));
    CHECK(b.link("a.example").addresses.size() == 2);
    SUBCASE("both are taken") {
        CHECK_FALSE(may(1, "[2001:db8::1]:25", AddressRequest::replace));
        CHECK_FALSE(may(1, "192.0.2.1:25", AddressRequest::replace));
    }
    SUBCASE("the loser's is free, the winner's is not") {
        b.engine.left_address(b.opened[0], "[2001:db8::1]:25", b.now(), b.out);
        b.engine.left_address(b.opened[0], "[2001:db8::1]:25", b.now(), b.out); // once is enough
        CHECK(b.link("a.example").addresses.size() == 1);
        CHECK_FALSE(may(1, "192.0.2.1:25", AddressRequest::add));
        CHECK(may(1, "[2001:db8::1]:25", AddressRequest::add));
        CHECK_FALSE(may(0, "[2001:db8::1]:25", AddressRequest::add));
    }
    SUBCASE("who asks besides waits in no line: nothing is kept for it") {
        CHECK(may(1, "192.0.2.2:25", AddressRequest::replace));
        CHECK_FALSE(may(1, "192.0.2.1:25", AddressRequest::add));
        CHECK_FALSE(b.link("b.example").at_address_limit);
        b.engine.left_address(b.opened[0], "192.0.2.1:25", b.now(), b.out);
        CHECK(may(0, "192.0.2.1:25", AddressRequest::add));
    }
    SUBCASE("all are free when the connection ends") {
        b.refuse(b.opened[0]);
        REQUIRE(b.opened.size() == 1);
        CHECK(may(0, "[2001:db8::1]:25", AddressRequest::replace));
        CHECK(may(0, "192.0.2.1:25", AddressRequest::add));
    }
}

TEST_CASE("room that comes while an agent is on its way to say that there was none is not missed") {
    Bench b(at_most(1));
    b.connects = false;
    for (const char* domain : {"a.example", "b.example"}) b.route_kind[domain] = RouteKind::mx;
    b.send({"a.example"});
    b.send({"b.example"});
    REQUIRE(b.opened.size() == 2);
    const auto has = b.opened[0], asks = b.opened[1];
    REQUIRE(b.engine.may_connect(has, "192.0.2.1:25", AddressRequest::replace, b.now(), b.out));
    REQUIRE_FALSE(b.engine.may_connect(asks, "192.0.2.1:25", AddressRequest::replace, b.now(), b.out));
    b.refuse(has);
    std::erase(b.opened, asks);
    b.engine.closed({.connection = asks, .at_address_limit = true}, b.now(), b.out);
    b.run();
    CHECK_FALSE(b.link("b.example").at_address_limit);
    REQUIRE(b.opened.size() == 1); // again, at once
    CHECK(b.engine.may_connect(b.opened[0], "192.0.2.1:25", AddressRequest::replace, b.now(), b.out));
}

TEST_CASE("for a configured route its own limit holds for the address too") {
    Settings s = at_most(1);
    s.connections_route = 2;
    Bench b(s);
    b.link_of = {{"a.example", "[one]"}, {"b.example", "[other]"}};
    b.address_of = {{"[one]", "192.0.2.1:25"}, {"[other]", "192.0.2.1:25"}};
    for (int n = 0; n < 10; ++n) b.send({n % 2 == 0 ? "a.example" : "b.example"});
    b.pass(30s);
    CHECK(b.opened.size() == 2);
}

TEST_CASE("a link in retry that finds no room has not failed once more, and its try comes when it is called") {
    OneHost b(at_most(1), {"a.example", "b.example"});
    b.connects = false;
    b.send({"b.example"});
    b.refuse(b.opened.front()); // the host, once
    b.connects = true;
    b.send({"a.example"});
    REQUIRE(b.handed.size() == 1);
    b.pass(5min); // a.example's is slow
    CHECK(b.link("b.example").failures == 1);
    CHECK(b.link("b.example").connections == 0);
    b.answer(b.take(), Outcome::delivered);
    b.pass(3s);
    REQUIRE(b.handed.size() == 1);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.link("b.example").health == Health::ready);
    CHECK(b.engine.counts().messages == 0);
}

TEST_CASE("a raised limit calls those who wait; a forgotten link waits no more") {
    OneHost b(at_most(1), {"a.example", "b.example", "c.example"});
    b.send({"a.example"});
    const auto waits = b.send({"b.example"});
    b.send({"c.example"});
    CHECK(b.handed.size() == 1);
    b.engine.forget(waits, b.now(), b.out);
    b.run();
    b.pass(25min);
    CHECK(b.link("b.example").name.empty());
    b.engine.configure(at_most(2), b.now(), b.out);
    b.run();
    CHECK(b.handed.size() == 2);
}

TEST_CASE("a suspect waits for room like any other") {
    OneHost b(at_most(1), {"a.example", "b.example"});
    const auto bad = b.send({"b.example"});
    b.engine.pause(Scope::link, "b.example", b.now(), b.out);
    b.engine.agent_gone(b.take().agent, AgentExit::crashed, b.now(), b.out);
    b.handed.clear();
    b.opened.clear();
    for (const AgentId fresh : {3, 4}) b.engine.agent_attached(fresh, AgentKind::smtp, 1000, b.now(), b.out);
    b.run();
    b.send({"a.example"});
    REQUIRE(b.handed.size() == 1);
    b.engine.resume(Scope::link, "b.example", b.now(), b.out);
    b.run();
    b.pass(1min);
    CHECK(b.link("b.example").connections == 0);
    CHECK(b.link("a.example").connections == 1);
    b.answer(b.take(), Outcome::delivered);
    b.pass(30s);
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().id == bad);
}
