#include "daemons/decide/routing/failover_route.h"
#include <doctest/doctest.h>
#include <set>

using namespace decide;

namespace {

NextHop hop(const char* text) { return *NextHop::parse(text); }

} // namespace

TEST_CASE("the preferred next hop that is not down; if all are, the preferred one") {
    const RouteRule rule{"*", {{hop("[one]")}, {hop("[two]:26"), hop("[three]")}, {hop("[four]")}}, 0};
    std::set<std::string> down;
    const auto link = [&] { return best(rule, [&](const auto& name) { return down.contains(name); }).link; };
    CHECK(link() == "[one]");
    down.insert("[one]");
    CHECK(link() == "[three],[two]:26");
    down.insert("[three],[two]:26");
    CHECK(link() == "[four]");
    down.insert("[four]");
    CHECK(link() == "[one]");
    down.erase("[three],[two]:26");
    CHECK(link() == "[three],[two]:26");
}

TEST_CASE("equals are one destination") {
    const auto both = configured({hop("[two]:26"), hop("[one]")});
    CHECK(both.kind == RouteKind::configured);
    CHECK(both.hosts == std::vector<Host>{{"one", 25, 0}, {"two", 26, 0}});
}

TEST_CASE("hosts in order are one destination, and another one in another order") {
    const auto there = decide::in_order({*NextHop::parse("[b.example]"), *NextHop::parse("[a.example]:26")});
    REQUIRE(there.hosts.size() == 2);
    CHECK(there.hosts[0].name == "b.example");
    CHECK(there.hosts[0].preference < there.hosts[1].preference);
    CHECK(there.link != decide::in_order({*NextHop::parse("[a.example]:26"), *NextHop::parse("[b.example]")}).link);
    CHECK(there.link != decide::configured({*NextHop::parse("[b.example]"), *NextHop::parse("[a.example]:26")}).link);
}

TEST_CASE("a relay of ours that does not exist is waited for") {
    const auto gone = named_by_rule(Destination::refuse(RouteKind::permanent, "5.1.2", "not found"));
    CHECK(gone.kind == RouteKind::temporary);
    CHECK(gone.status == "4.1.2");
    CHECK(named_by_rule(configured({hop("[one]")})).found());
}

TEST_CASE("what a route falls back on: behind the MX hosts, or where they cannot be found out") {
    const std::vector<NextHop> fallback{*NextHop::parse("[relay.example.net]:2525"), *NextHop::parse("[192.0.2.9]")};
    const auto mx = Destination::of(RouteKind::mx, {{"mx1.example.com", 25, 10}, {"mx2.example.com", 25, 65535}});

    const auto both = with_fallback(mx, fallback);
    CHECK(both.kind == RouteKind::mx);
    CHECK(both.link == "mx1.example.com;mx2.example.com;[192.0.2.9],[relay.example.net]:2525");
    REQUIRE(both.hosts.size() == 4);
    CHECK(both.hosts[1].name == "mx2.example.com"); // the worst MX comes before
    CHECK(both.hosts[2].tier == Tier::fallback);

    const auto lost = with_fallback(Destination::refuse(RouteKind::temporary, "4.4.3", "SERVFAIL"), fallback);
    CHECK(lost.kind == RouteKind::configured);
    CHECK(lost.link == configured(fallback).link);

    const auto no = with_fallback(Destination::refuse(RouteKind::permanent, "5.1.10", "null MX"), fallback);
    CHECK(no.kind == RouteKind::permanent);
    CHECK(no.hosts.empty());

    auto ours = mx; // we are one of its hosts: who sends to us might be the fallback itself
    ours.includes_self = true;
    CHECK(with_fallback(ours, fallback).link == mx.link);
    CHECK(with_fallback(mx, {}).link == mx.link);
    const auto store = with_fallback(mx, {*NextHop::parse("lmtp:[store.example.net]")});
    CHECK(store.hosts.back().protocol == smtp::Protocol::lmtp);
    CHECK(store.hosts.front().protocol == smtp::Protocol::smtp);
    const auto named = configured({*NextHop::parse("[a]")});
    CHECK(with_fallback(named, fallback).link == "[a]");
}

TEST_CASE("hosts with TLS from the first byte are another link") {
    RouteRule rule;
    rule.next_hops = {{*NextHop::parse("[a]:465")}};
    const auto up = [](const std::string&) { return false; };
    CHECK(best(rule, up).link == "[a]:465");
    rule.tls_wrap = true;
    CHECK(best(rule, up).link == "[a]:465/tls");
    CHECK(best(rule, up).hosts[0].tls_wrap);
}

TEST_CASE("two accounts at one host are two links") {
    const auto ann = configured({*NextHop::parse("ann@example.com@[a]:587")}),
               ben = configured({*NextHop::parse("ben@[a]:587")});
    CHECK(ann.link == "ann@example.com@[a]:587");
    CHECK(ann.hosts[0].name == "a");
    CHECK(ann.hosts[0].account == "ann@example.com");
    CHECK(ben.link == "ben@[a]:587");
    CHECK(configured({*NextHop::parse("[a]:587")}).link == "[a]:587");
    // A pool of source addresses stands behind.
    for (const auto& link : {ann.link, ben.link, std::string("[a]:587"), std::string("mx.example")}) {
        CHECK(link_to(link) == link);
        CHECK(pool_of_link(link) == "");
        CHECK(link_to(link_from(link, "bulk")) == link);
        CHECK(pool_of_link(link_from(link, "bulk")) == "bulk");
    }
    const std::vector fallback{*NextHop::parse("ann@[b]")};
    CHECK(with_fallback(Destination::refuse(RouteKind::temporary, "4.4.3", "no"), fallback).link == "ann@[b]");
}
