#include "daemons/common/config/load.h"
#include "daemons/router/router.h"
#include "tests/common/ipc/fake_queue_manager.h"
#include "tests/common/net/dns/name_server.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

using proto::route::Routed;
using router::LocalIdentity;

namespace {

config::Config parsed(std::string_view text) {
    auto read = config::parse(text, "f.toml", {"me.example", "alice", 1});
    REQUIRE(read);
    return std::move(*read);
}

// A small world of names.
std::string answer_for(packet::Message& m) {
    using namespace packet;
    const auto& name = m.question;
    const auto no_data = [&] { return m.authority(soa("example", 60, 60)).bytes(); };
    if (name == "fails.example") return m.code = 2, m.bytes();
    if (name == "none.example") return m.code = 3, m.authority(soa("example", 60, 60)).bytes();
    if (m.type == 15) {
        if (name == "good.example" || name == "also.example")
            return m.answer(mx(name, 120, 20, "mx2.example")).answer(mx(name, 120, 10, "mx1.example")).bytes();
        if (name == "null.example") return m.answer(mx(name, 120, 0, "")).bytes();
        if (name == "named.example")
            return m.answer(mx(name, 120, 10, "me.example")).answer(mx(name, 120, 5, "mx1.example")).bytes();
        if (name == "loop.example") return m.answer(mx(name, 120, 10, "selfaddress.example")).bytes();
        return no_data();
    }
    if (m.type == 33) {
        if (name == "_submissions._tcp.both.example")
            return m.answer(srv(name, 120, 0, 5, 465, "mx1.example"))
                .answer(srv(name, 120, 0, 1, 465, "mx2.example"))
                .bytes();
        if (name == "_submission._tcp.both.example") return m.answer(srv(name, 90, 0, 0, 587, "mx1.example")).bytes();
        if (name.ends_with("not.example")) return m.answer(srv(name, 120, 0, 0, 0, "")).bytes();
        if (name.ends_with("broken.example")) return m.code = 2, m.bytes();
        return no_data();
    }
    if (m.type == 1) {
        if (name == "selfaddress.example") return m.answer(a(name, 60, {"\x7f\0\0\1", 4})).bytes();
        if (name == "plain.example" || name.starts_with("mx")) return m.answer(a(name, 60, {"\xc0\0\2\1", 4})).bytes();
    }
    return no_data();
}

struct World {
    fake::Premises premises{proto::Role::router};
    NameServer names{premises.loop};
    fake::QueueManager<proto::route::Message> manager{premises, proto::route::conversation, proto::Role::router};
    common::DaemonContext context = premises.context();
    config::Config config;
    std::unique_ptr<router::Router> daemon;

    explicit World(std::string_view text) : config(parsed(text)) {
        names.behave = answer_for;
        config.spool.directory = context.run_directory; // it has its own state, and nothing else of the spool
        std::filesystem::create_directories(context.run_directory + "/state");
        config.dns = names.settings();
        config.dns.timeout = std::chrono::seconds(3); // every question here is answered, some day
        auto made = router::Router::create(context, {config, 1, {}, {}});
        REQUIRE(made);
        daemon = std::move(*made);
        manager.await_peer();
    }
    // "mx mx1.example;mx2.example", "permanent 5.1.2"
    std::string route(const std::string& domain) {
        const auto routed = manager.ask<Routed>(proto::route::Route{7, domain});
        CHECK(routed.request == 7);
        CHECK(routed.domain == domain);
        CHECK(routed.valid_seconds > 0);
        constexpr std::string_view kinds[] = {"mx", "configured", "temporary", "permanent"};
        const auto& what = routed.hosts.empty() ? routed.status : routed.link;
        return fmt::format("{} {}", kinds[static_cast<int>(routed.kind)], what);
    }
};

} // namespace

TEST_CASE("domains without a route go by their MX") {
    World w("[listen.smtp]\naddresses = \"*:25\"");
    CHECK(w.route("good.example") == "mx mx1.example;mx2.example");
    CHECK(w.route("also.example") == "mx mx1.example;mx2.example");
    CHECK(w.route("plain.example") == "mx plain.example");
    CHECK(w.route("null.example") == "permanent 5.1.10");
    CHECK(w.route("none.example") == "permanent 5.1.2");
    CHECK(w.route("empty.example") == "permanent 5.4.4");
    CHECK(w.route("fails.example") == "temporary 4.4.3");
    CHECK(w.route("not a domain") == "permanent 5.1.2");
    CHECK(w.route("[192.0.2.1]") == "mx 192.0.2.1");
    CHECK(w.route("[IPv6:2001:db8::1]") == "mx 2001:db8::1");
    CHECK(w.route("[nonsense]") == "permanent 5.1.2");
}

TEST_CASE("mail never comes back to ourselves") {
    World w("[listen.smtp]\naddresses = [\"127.0.0.1:25\"]");
    CHECK(w.route("named.example") == "mx mx1.example");
    CHECK(w.route("loop.example") == "permanent 5.4.6");
    CHECK(w.route("[127.0.0.1]") == "permanent 5.4.6");
    World other("[listen.smtp]\naddresses = [\"127.0.0.1:2525\"]");
    CHECK(other.route("loop.example") == "mx selfaddress.example"); // we are not at port 25
}

TEST_CASE("a rule that leads to ourselves is a loop, by whichever of our addresses it does") {
    World w("[listen.smtp]\naddresses = \"*:2525\"\n[route.\"store.example\"]\nnext_hop = \"[192.0.2.1]:2525\"\n"
            "[route.\"other.example\"]\nnext_hop = \"[127.0.0.1]:26\"");
    CHECK(w.route("store.example") == "configured [192.0.2.1]:2525");
    CHECK(w.route("other.example") == "configured [127.0.0.1]:26");
    for (const auto& address : LocalIdentity::interfaces()) {
        if (!address.is_v4() || address.is_loopback()) continue; // of loopback "check" knows
        World itself(
            fmt::format("[listen.smtp]\naddresses = \"*:2525\"\n[route.\"loop.example\"]\nnext_hop = \"[{0}]:2525\"\n"
                        "[route.\"half.example\"]\nnext_hop = [[\"[{0}]:2525\", \"[192.0.2.1]\"]]",
                        address.to_string()));
        CHECK(itself.route("loop.example") == "permanent 5.4.6");
        const auto half = itself.manager.ask<Routed>(proto::route::Route{1, "half.example"});
        REQUIRE(half.hosts.size() == 1);
        CHECK(half.hosts[0].name == "192.0.2.1");
        break;
    }
}

TEST_CASE("routes come before the name system") {
    World w(R"(
[route."unreachable.example"]
next_hop = "[127.0.0.1]:2526"
[route.".below.example"]
next_hop = [["[a.example]", "[b.example]"], "[c.example]:26"]
[route."self.example"]
next_hop = "mx:2525"
[route."relayed.example"]
next_hop = "good.example:587"
connections = 3
[route."broken.example"]
next_hop = "none.example"
)");
    CHECK(w.route("unreachable.example") == "configured [127.0.0.1]:2526");
    const auto routed = w.manager.ask<Routed>(proto::route::Route{1, "x.below.example"});
    CHECK(routed.kind == decide::RouteKind::configured);
    REQUIRE(routed.hosts.size() == 2); // equals share one link
    CHECK(routed.hosts[0] == proto::route::Host{"a.example", 25, 0});
    CHECK(routed.connections == 0);
    CHECK(routed.rule == ".below.example");
    static_cast<void>(w.manager.channel().send(
        proto::route::LinkState{routed.link, true})); // the next in order serves while it is down
    CHECK(w.route("x.below.example") == "configured [c.example]:26");
    static_cast<void>(
        w.manager.channel().send(proto::route::LinkState{"[c.example]:26", true})); // nothing is up: the preferred one
    CHECK(w.route("x.below.example") == "configured " + routed.link);
    static_cast<void>(w.manager.channel().send(proto::route::LinkState{"[c.example]:26", false}));
    CHECK(w.route("x.below.example") == "configured [c.example]:26");
    static_cast<void>(w.manager.channel().send(proto::route::LinkState{routed.link, false}));
    CHECK(w.route("x.below.example") == "configured " + routed.link);
    CHECK(w.route("via:[d.example]:27") == "configured [d.example]:27");
    CHECK(w.route("via:good.example:587") == "mx mx1.example:587;mx2.example:587");
    CHECK(w.manager.ask<Routed>(proto::route::Route{1, "relayed.example"}).connections == 3);
    CHECK(w.route("relayed.example") == "mx mx1.example:587;mx2.example:587");
    CHECK(w.route("broken.example") == "temporary 4.1.2"); // ours to mend: mail waits
}

TEST_CASE("a transport table names a route: the domain's own hosts, with the settings of the route") {
    World w("[route.\"slow\"]\nnext_hop = \"mx\"\nconnections = 2\npool = \"second\"\n"
            "[route.\"relayed\"]\nnext_hop = [\"[a.example]:25\", \"[b.example]:25\"]\n"
            "[route.\"good.example\"]\nnext_hop = \"[elsewhere.example]:25\"\nconnections = 9\n"
            "[pool.second]\naddresses = [\"192.0.2.1\"]\n");
    auto routed = w.manager.ask<Routed>(proto::route::Route{1, "via:slow:good.example"});
    CHECK(routed.link == "slow:mx1.example;mx2.example@second");
    CHECK(routed.rule == "slow");
    CHECK(routed.connections == 2);
    CHECK(routed.records_of == "good.example");
    CHECK(routed.hosts.size() == 2);
    CHECK(w.route("via:slow:also.example") == "mx slow:mx1.example;mx2.example@second"); // as the same link
    CHECK(w.route("via:slow:[192.0.2.9]") == "configured slow:[192.0.2.9]@second");
    CHECK(w.route("via:slow:[d.example]:27") == "configured slow:[d.example]:27@second");
    CHECK(w.route("via:slow:good.example:587") == "mx slow:mx1.example:587;mx2.example:587@second");
    CHECK(w.route("via:relayed:whatever.example") == "configured relayed:[a.example]");
    static_cast<void>(w.manager.channel().send(proto::route::LinkState{"relayed:[a.example]", true}));
    CHECK(w.route("via:relayed:whatever.example") == "configured relayed:[b.example]");
    routed = w.manager.ask<Routed>(proto::route::Route{1, "via:gone:good.example"});
    CHECK(routed.kind == decide::RouteKind::temporary);
    CHECK(routed.text.find("there is no [route.\"gone\"]") != std::string::npos);
    CHECK(w.route("via:gone:[d.example]:27") == "temporary 4.3.5");
    // A content filter is the same for all recipients.
    CHECK(w.route("via:relayed:") == "configured relayed:[b.example]");
    CHECK(w.route("via:gone:") == "temporary 4.3.5");
    routed = w.manager.ask<Routed>(proto::route::Route{1, "via:slow:"});
    CHECK(routed.kind == decide::RouteKind::temporary);
    CHECK(routed.text.find("[route.\"slow\"] has no next_hop") != std::string::npos);
}

TEST_CASE("a transport table sends a domain's mail to its own hosts, whatever the routes say") {
    World w("[route.\"*\"]\nnext_hop = \"[relay.example]:25\"\n[route.\"good.example\"]\nnext_hop = \"[x.example]\"");
    CHECK(w.route("via:mx:good.example") == "mx mx1.example;mx2.example");
    CHECK(w.route("via:mx:587:good.example") == "mx mx1.example:587;mx2.example:587");
    CHECK(w.route("via:mx:[192.0.2.9]") == "mx 192.0.2.9");
    CHECK(w.route("via:mx:null.example") == "permanent 5.1.10"); // as without a table: no relay of ours is at fault
}

TEST_CASE("a relay host serves what no other rule does") {
    World w("[route.\"*\"]\nnext_hop = \"[relay.example]:25\"\n[route.\"good.example\"]\nnext_hop = \"mx\"");
    CHECK(w.route("anything.at.all") == "configured [relay.example]");
    CHECK(w.route("[192.0.2.1]") == "configured [relay.example]");
    CHECK(w.route("good.example") == "mx mx1.example;mx2.example");
}

TEST_CASE("many at once are answered, each once; equal ones share their look-ups; reload asks anew") {
    World w("");
    for (std::uint64_t i = 0; i < 1000; ++i)
        static_cast<void>(w.manager.channel().send(proto::route::Route{i, "d" + std::to_string(i % 500) + ".example"}));
    std::vector<bool> seen(1000);
    for (int i = 0; i < 1000; ++i) {
        const auto routed = w.manager.next<Routed>();
        CHECK(!seen.at(routed.request));
        seen.at(routed.request) = true;
    }
    w.names.behave = [&](packet::Message& m) {
        w.premises.loop.stop();
        return answer_for(m);
    };
    while (w.names.asked < 2000) w.premises.loop.run(); // policies may be asked for after the answer
    CHECK(w.names.asked == 2000); // for each domain: MX, A, AAAA, and whether it has a policy (MTA-STS)

    static_cast<void>(w.manager.channel().send(proto::route::Route{1, "good.example"}));
    w.names.behave = [&](packet::Message&) {
        w.premises.loop.stop();
        return std::string();
    };
    while (w.names.asked == 2000) w.premises.loop.run();
    w.names.behave = answer_for;
    w.config.routes = parsed("[route.\"good.example\"]\nnext_hop = \"[new.example]\"").routes;
    w.daemon->reconfigure({w.config, 2, {}, {}});
    CHECK(w.manager.next<Routed>().link == "[new.example]");
    bool stopped = false;
    w.daemon->stop(std::chrono::seconds(1), [&] { stopped = true; });
    CHECK(stopped);
}

TEST_CASE("whether a domain has a policy is asked beside its MX, and only where policies count") {
    for (const bool counts : {true, false}) {
        CAPTURE(counts);
        World w(counts ? "" : "smtp_client.tls = \"dane\"");
        std::vector<std::uint16_t> asked; // before anything is answered
        w.names.behave = [&](packet::Message& m) {
            asked.push_back(m.type);
            w.premises.loop.stop();
            return std::string();
        };
        static_cast<void>(w.manager.channel().send(proto::route::Route{1, "good.example"}));
        while (asked.size() < (counts ? 2 : 1)) w.premises.loop.run();
        CHECK(asked.front() == 15);
        CHECK(std::ranges::count(asked, 16) == (counts ? 1 : 0));
    }
}

TEST_CASE("policies that nobody tells of delay no other domain's") {
    World w("");
    w.names.behave = [](packet::Message& m) {
        const bool dead = m.question.find("dead") != m.question.npos;
        if (dead && m.type == 15) return m.answer(packet::mx(m.question, 120, 10, "mx1.example")).bytes();
        return dead ? std::string() : answer_for(m);
    };
    for (std::uint64_t i = 0; i < 2 * router::StsPolicies::max_active; ++i)
        static_cast<void>(w.manager.channel().send(proto::route::Route{i, "dead" + std::to_string(i) + ".example"}));
    static_cast<void>(w.manager.channel().send(proto::route::Route{7000, "good.example"}));
    CHECK(w.manager.next<Routed>().request == 7000);
}

TEST_CASE("who we are") {
    const auto config =
        parsed("[listen.a]\naddresses = [\"127.0.0.1:2525\", \"*:25\"]\n[smtp_client]\nhelo = \"out.example\"");
    const LocalIdentity us({config.mta.hostname, config.smtp_client.helo}, config.listeners,
                           {*common::IpAddress::parse("192.0.2.9"), *common::IpAddress::parse("2001:db8::9")});
    CHECK(us.is_name("me.example"));
    CHECK(us.is_name("out.example"));
    CHECK(!us.is_name("example"));
    CHECK(us.is_address(*common::IpAddress::parse("192.0.2.9"), 25));
    CHECK(us.is_address(*common::IpAddress::parse("2001:db8::9"), 25));
    CHECK(us.is_address(*common::IpAddress::parse("127.0.0.1"), 2525));
    CHECK(!us.is_address(*common::IpAddress::parse("192.0.2.9"), 2525));
    CHECK(us.listens_on(25));
    CHECK(!us.listens_on(26));
    CHECK(!LocalIdentity::interfaces().empty());
}

TEST_CASE("where a domain takes submitted mail, its SRV records say") {
    World w(R"(
[route."*"]
next_hop = "srv:both.example"
[route."not.example"]
next_hop = "srv:not.example"
[route."broken.example"]
next_hop = "srv:broken.example"
)");
    const auto routed = w.manager.ask<Routed>(proto::route::Route{1, "anything.example"});
    CHECK(routed.kind == decide::RouteKind::mx);
    CHECK(routed.link == "mx1.example:465/tls,mx2.example:465/tls;mx1.example:587");
    CHECK(routed.valid_seconds <= 90);
    REQUIRE(routed.hosts.size() == 3);
    CHECK(routed.hosts[0] == proto::route::Host{"mx1.example", 465, 0, 5, decide::Tier::first, true});
    CHECK(routed.hosts[2] == proto::route::Host{"mx1.example", 587, 0, 0, decide::Tier::second, false});
    CHECK(w.route("not.example") == "temporary 4.4.4"); // ours to mend
    CHECK(w.route("broken.example") == "temporary 4.4.3");
    CHECK(w.route("via:srv:both.example") == "mx " + routed.link);
}

TEST_CASE("a route's fallback stands behind the MX hosts, and alone where they cannot be found out") {
    World w(R"(
[listen.smtp]
addresses = ["127.0.0.1:25"]
[route."*"]
next_hop = "mx"
fallback = ["[relay.example]:2525", "[127.0.0.1]", "[me.example]"]
)");
    CHECK(w.route("good.example") == "mx mx1.example;mx2.example;[relay.example]:2525");
    CHECK(w.manager.ask<Routed>(proto::route::Route{1, "good.example"}).hosts.back().tier == decide::Tier::fallback);
    CHECK(w.route("fails.example") == "configured [relay.example]:2525");
    CHECK(w.route("null.example") == "permanent 5.1.10");
    CHECK(w.route("none.example") == "permanent 5.1.2");
    CHECK(w.route("named.example") == "mx mx1.example"); // we are its second MX
    CHECK(w.route("loop.example") == "permanent 5.4.6");
}
