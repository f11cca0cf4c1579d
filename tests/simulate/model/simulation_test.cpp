#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/simulate/model/simulation.h"
#include "daemons/simulate/report/report.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
namespace simulate = postrider::simulate;

namespace {

// What came of it; also that no message is lost or made up.
simulate::Timeline play(std::string_view scenario, std::string_view configuration = "") {
    const auto config = config::parse(std::string("[queue]\njitter = 0\n") + std::string(configuration), "c.toml",
                                      {"h.example", "user", 2});
    REQUIRE(config);
    const auto read = simulate::parse(scenario, "s.toml");
    REQUIRE_MESSAGE(read, (read ? "" : read.error().front().to_string()));
    simulate::Simulation simulation(*config, *read);
    simulation.run();
    std::uint64_t in = 0, out = 0;
    for (const auto& [name, link] : simulation.timeline().links()) {
        in += link.accepted;
        out += link.delivered + link.returned() + link.queued;
    }
    CHECK(in > 0);
    CHECK(in == out);
    return simulation.timeline();
}

const simulate::Timeline::Link& link(const simulate::Timeline& timeline, const std::string& name) {
    REQUIRE(timeline.links().contains(name));
    return timeline.links().at(name);
}

bool told(const simulate::Timeline& timeline, std::string_view what) {
    return std::ranges::any_of(timeline.events(),
                               [&](const auto& each) { return each.text.find(what) != std::string::npos; });
}

constexpr std::string_view relay = "[route.\"*\"]\nnext_hop = \"[relay.example]:25\"\n";
constexpr std::string_view traffic =
    "[world]\nduration = \"12h\"\ninterval = \"1h\"\n[traffic.t]\ndomains = [\"a.example\"]\n";
// One message, at the beginning.
constexpr std::string_view one = "[world]\nduration = \"10d\"\n"
                                 "[traffic.t]\ndomains = [\"a.example\"]\nprofile = \"burst\"\nmessages = 1\n";

// When a link's tries failed, in whole seconds.
std::vector<long> tries(const simulate::Timeline& timeline, const std::string& name) {
    std::vector<long> out;
    for (const auto& each : timeline.events())
        if (each.link == name && (each.kind == simulate::EventKind::glitch || each.kind == simulate::EventKind::retry))
            out.push_back(std::chrono::floor<std::chrono::seconds>(each.at).count());
    return out;
}

// The link that has this host among its own.
const simulate::Timeline::Link& of_host(const simulate::Timeline& timeline, std::string_view host) {
    const auto found =
        std::ranges::find_if(timeline.links(), [&](auto& each) { return each.first.find(host) != std::string::npos; });
    REQUIRE(found != timeline.links().end());
    return found->second;
}

// The order of events of some kinds, for one link: "glitch retry down".
std::string order(const simulate::Timeline& timeline, const std::string& name) {
    std::string out;
    for (const auto& each : timeline.events())
        if (each.link == name && each.in_summary) out += (out.empty() ? "" : " ") + std::string(name_of(each.kind));
    return out;
}

} // namespace

TEST_CASE("mail without a sender, where no local domain is named") {
    const auto timeline = play(std::string(one) + "sender = \"<>\"\n", "[local]\ndomains = []\n");
    CHECK(of_host(timeline, "a.example").delivered == 1);
}

TEST_CASE("when all is well mail goes at once") {
    const auto timeline = play(traffic, relay);
    const auto& to = link(timeline, "[relay.example]");
    CHECK(to.accepted > 6000);
    CHECK(to.queued < 5);
    CHECK(to.returned() == 0);
    CHECK(timeline.events().empty());
    for (const auto& row : to.rows) CHECK(row.delay(1) < 2);
}

TEST_CASE("a relay that is down: mail waits, on the ladder, and goes when it is back") {
    for (const char* how : {"refuses", "silent"}) {
        const auto timeline =
            play(std::string(traffic) +
                     "[fault.x]\nhosts = \"relay.example\"\nfrom = \"2h\"\nlasts = \"3h\"\nhow = \"" + how + "\"\n",
                 relay);
        const auto& to = link(timeline, "[relay.example]");
        CHECK(to.rows.at(1).state == "ready");
        CHECK(to.rows.at(3).delivered == 0);
        CHECK(to.rows.at(4).backlog > 1500);
        CHECK(to.rows.at(5).backlog < 5);
        CHECK(to.rows.at(3).state == "down");
        CHECK(to.rows.at(11).state == "ready");
        CHECK(told(timeline, "in retry after 3 failures"));
        CHECK(told(timeline, "is up again"));
        CHECK(told(timeline, "the backlog is cleared"));
        CHECK(to.rows[5].delay(1) > 2.9 * 3600);
        CHECK(to.rows[5].delay(1) < 3.4 * 3600);
    }
}

TEST_CASE("the configuration's numbers are what is played") {
    const auto timeline = play(std::string(traffic) + "[fault.x]\nhosts = \"relay.example\"\nlasts = \"11h\"\n",
                               "expiry = \"4h\"\ndelay_notice = \"1h\"\n" + std::string(relay));
    const auto& to = link(timeline, "[relay.example]");
    CHECK(to.returned() > 3000);
    CHECK(to.notices > 5000);
    CHECK(to.rows.at(3).returned == 0);
    CHECK(to.rows.at(5).returned > 500);
    CHECK(told(timeline, "returned to its sender"));
}

TEST_CASE("servers' ways: unknown users, limits, greylists, refusals") {
    const auto unknown = play(std::string(traffic) + "[host.\"relay.example\"]\nunknown = 0.5\n", relay);
    const auto& half = link(unknown, "[relay.example]");
    CHECK(half.returned() > half.accepted * 4 / 10);
    CHECK(half.returned() < half.accepted * 6 / 10);
    const auto grey = play(std::string(traffic) + "[host.\"relay.example\"]\ngreylist = \"5m\"\n", relay);
    CHECK(link(grey, "[relay.example]").rows.at(6).delay(0.5) > 290);
    CHECK(link(grey, "[relay.example]").rows.at(6).state == "ready");
    const auto limited =
        play(std::string(traffic) + "messages = 36000\n[host.\"relay.example\"]\nconnections = 4\n", relay);
    CHECK(link(limited, "[relay.example]").queued < 100);
    for (const char* how : {"busy", "defers", "drops"}) {
        const auto timeline =
            play(std::string(traffic) + "[fault.x]\nhosts = \"relay.example\"\nfrom = \"1h\"\nhow = \"" + how + "\"\n",
                 relay);
        CHECK(link(timeline, "[relay.example]").rows.at(1).backlog > 500);
        CHECK(link(timeline, "[relay.example]").rows.at(4).backlog < 20);
    }
    const auto rejected =
        play(std::string(traffic) + "[fault.x]\nhosts = \"relay.example\"\nfrom = \"1h\"\nhow = \"rejects\"\n", relay);
    CHECK(link(rejected, "[relay.example]").returned() > 500);
    CHECK(link(rejected, "[relay.example]").returned() < 700);
}

TEST_CASE("without a route a domain has its MX hosts; names in trouble keep mail where it is") {
    const auto timeline = play(std::string(traffic) + R"(
[traffic.other]
domains = ["b.example"]
[traffic.home]
domains = ["h.example"]
[domain."a.example"]
mx = ["mx1.example", "mx2.example"]
[fault.first]
hosts = ["mx1.example"]
[fault.names]
how = "no_dns"
domains = ["b.example"]
lasts = "2h"
)");
    CHECK(link(timeline, "mx1.example;mx2.example").queued < 5); // the second host takes it
    CHECK(link(timeline, "(not routed)").rows.at(0).backlog > 500);
    CHECK(link(timeline, "(not routed)").queued == 0);
    CHECK(link(timeline, "mx.b.example").queued < 5);
    CHECK(link(timeline, "local").delivered > 6000);
}

TEST_CASE("what no mail had to do with is named") {
    const auto config = config::parse(relay, "c.toml", {"h.example", "user", 2});
    const auto read = simulate::parse(std::string(traffic) + "[fault.x]\nhosts = \"rely.example\"\n", "s.toml");
    REQUIRE(config);
    REQUIRE(read);
    simulate::Simulation simulation(*config, *read);
    simulation.run();
    CHECK(simulation.unused_names() == std::vector<std::string>{"host rely.example"});
}

TEST_CASE("the ladder of a link, with jitter 0: 0, 1, 2, 12, 22, 32, 47, 62 minutes") {
    const auto timeline = play(std::string(one) + "[fault.x]\nhosts = \"relay.example\"\nlasts = \"61m\"\n", relay);
    const std::vector<long> expected{0, 60, 120, 720, 1320, 1920, 2820};
    CHECK(tries(timeline, "[relay.example]") == expected);
    CHECK(link(timeline, "[relay.example]").delivered == 1);
    CHECK(link(timeline, "[relay.example]").delay(1) == doctest::Approx(62 * 60).epsilon(0.001));
}

TEST_CASE("a route's own ladder, and its named policy") {
    const auto own = play(std::string(one) + "[fault.x]\nhosts = \"relay.example\"\nlasts = \"10m\"\n",
                          std::string(relay) + "glitch_interval = \"10s\"\nretry_interval = \"1m\"\nretry_count = 2\n"
                                               "retry_interval_after = \"5m\"\n");
    CHECK(tries(own, "[relay.example]") == std::vector<long>{0, 10, 20, 80, 140, 440});
    const std::string_view greeted = "[host.\"relay.example\"]\ngreylist = \"1h\"\n";
    const auto steps = play(std::string(one) + std::string(greeted),
                            std::string(relay) + "retry_policy = \"brief\"\n[retry.brief]\nkind = \"steps\"\n"
                                                 "steps = [\"1m\", \"5m\", \"10m\"]\njitter = 0\n");
    CHECK(link(steps, "[relay.example]").attempts == 4); // at 0, 1, 6 and 16 minutes
    CHECK(link(steps, "[relay.example]").expired == 1);
    CHECK(link(steps, "[relay.example]").last_return < 17min);
    const auto usual = play(std::string(one) + std::string(greeted), relay);
    CHECK(link(usual, "[relay.example]").delivered == 1);
    const auto of_traffic = play(std::string(one) + "retry_policy = \"exchange\"\n" + std::string(greeted), relay);
    CHECK(link(of_traffic, "[relay.example]").attempts == link(usual, "[relay.example]").attempts);
}

TEST_CASE("a route's rate: what waits drains in the time it takes") {
    const auto timeline = play("[world]\nduration = \"12h\"\n[traffic.t]\ndomains = \"a.example\"\nprofile "
                               "= \"burst\"\nmessages = 600\n",
                               std::string(relay) + "messages_per_hour = 100\n");
    const auto& to = link(timeline, "[relay.example]");
    CHECK(to.delivered == 600);
    CHECK(to.delay(1) == doctest::Approx(599 * 36).epsilon(0.001));
    CHECK(to.failures == 0);
}

TEST_CASE("several next hops: the backup takes over, and the first comes back after two good probes") {
    const auto timeline =
        play(std::string(traffic) + "[fault.x]\nhosts = \"first.example\"\nfrom = \"1h\"\nlasts = \"2h\"\n",
             "[route.\"*\"]\nnext_hop = [\"[first.example]:25\", \"[second.example]:25\"]\n");
    CHECK(order(timeline, "[first.example]") == "glitch retry peak down rerouted up drained");
    const auto& first = link(timeline, "[first.example]");
    const auto& second = link(timeline, "[second.example]");
    CHECK(first.queued < 5); // on its way
    CHECK(second.queued == 0);
    CHECK(second.moved_in > 50);
    CHECK(second.delivered > 1000);
    for (const auto& each : timeline.events()) {
        if (each.kind == simulate::EventKind::down) { // the third failure in a row came two minutes in
            CHECK(each.at >= 1h + 7min);
            CHECK(each.at < 1h + 8min);
        }
        if (each.kind == simulate::EventKind::up) { // the first good probe, and one five minutes later
            CHECK(each.at > 3h + 5min);
            CHECK(each.at < 3h + 21min);
        }
    }
    CHECK(std::ranges::count(timeline.events(), simulate::EventKind::reset, &simulate::TimelineEvent::kind) == 2);
}

TEST_CASE("equals share a link; one of them down is no trouble") {
    const auto timeline = play(std::string(traffic) + "[fault.x]\nhosts = \"one.example\"\nfrom = \"1h\"\n",
                               "[route.\"*\"]\nnext_hop = [[\"[one.example]:25\", \"[two.example]:25\"]]\n");
    const auto& both = link(timeline, "[one.example],[two.example]");
    CHECK(both.queued < 5);
    CHECK(both.failures == 0);
    CHECK(both.delay(1) < 2);
}

TEST_CASE("a route's own reading of a reply") {
    const auto refused = std::string(one) + "[fault.x]\nhosts = \"relay.example\"\nhow = \"replies\"\nat = \"MAIL\"\n"
                                            "reply = \"550 5.7.1 not from you\"\nlasts = \"5m\"\n";
    CHECK(link(play(refused, relay), "[relay.example]").rejected == 1);
    const auto reread = play(refused, std::string(relay) + "reply_overrides = [\"550 5.7.1 at MAIL is temporary\"]\n");
    CHECK(link(reread, "[relay.example]").delivered == 1);
}

TEST_CASE("time is up after five days, and the report is mail of its own") {
    const auto down = std::string(one) + "[fault.x]\nhosts = \"relay.example\"\nlasts = \"10d\"\n";
    const auto timeline = play(down, relay);
    const auto& to = link(timeline, "[relay.example]");
    CHECK(to.expired == 1);
    CHECK(to.notices == 1);
    CHECK(to.last_return >= 120h);
    CHECK(to.last_return < 121h);
    CHECK(timeline.reports() == 2);
    CHECK(link(timeline, "local").delivered == 2);
    // Where the sender is elsewhere, its reports go there: after two days of trying nobody is left to tell.
    const auto lost = play(std::string(one) + "sender = \"app@relay.example\"\n"
                                              "[fault.x]\nhosts = \"relay.example\"\nlasts = \"10d\"\n",
                           relay);
    CHECK(link(lost, "[relay.example]").no_sender == 2);
    CHECK(link(lost, "[relay.example]").last_return >= 168h);
    const auto null = play(std::string(one) + "sender = \"<>\"\n"
                                              "[fault.x]\nhosts = \"relay.example\"\nlasts = \"10d\"\n",
                           relay);
    CHECK(link(null, "[relay.example]").no_sender == 1);
    CHECK(link(null, "[relay.example]").last_return < 49h);
    CHECK(null.reports() == 0);
}

TEST_CASE("bulk does not delay transactional mail; one sender's flood does not starve the others") {
    const auto longest_wait = [](std::string_view flood, std::string_view single) {
        const auto timeline =
            play("[world]\nduration = \"6h\"\n[host.\"relay.example\"]\ntransaction = \"1s\"\n"
                 "[traffic.flood]\ndomains = \"a.example\"\nprofile = \"burst\"\nmessages = 30000\n" +
                     std::string(flood) +
                     "[traffic.single]\ndomains = \"a.example\"\nmessages = 60\nfrom = \"2m\"\nuntil = \"3m\"\n" +
                     std::string(single),
                 std::string(relay) + "connections = 10\n");
        CHECK(timeline.traffic().at("flood").delay(1) > 2000);
        return timeline.traffic().at("single").delay(1);
    };
    CHECK(longest_wait("", "") < 10); // a sender of its own: its turn comes at once
    CHECK(longest_wait("lane = \"bulk\"\n", "") < 10);
    CHECK(longest_wait("", "lane = \"bulk\"\n") < 30); // and bulk moves on
}

TEST_CASE("rate refusals of a server: 452 puts messages off, nobody is returned") {
    const auto timeline =
        play(std::string(traffic) + "messages = 1200\n[host.\"relay.example\"]\nmessages_per_minute = 15\n", relay);
    const auto& to = link(timeline, "[relay.example]");
    CHECK(to.returned() == 0);
    CHECK(to.failures > 500);
    CHECK(to.delivered <= 12 * 60 * 15);
    CHECK(to.delivered > 12 * 60 * 8);
}

TEST_CASE("what a stage's failure costs: at RCPT one recipient, at DATA the message, at the banner the link") {
    const auto at = [](std::string_view stage, std::string_view reply) {
        return play(std::string(one) + "[fault.x]\nhosts = \"relay.example\"\nhow = \"replies\"\nat = \"" +
                        std::string(stage) + "\"\nreply = \"" + std::string(reply) + "\"\nlasts = \"5m\"\n",
                    relay);
    };
    CHECK(order(at("banner", "554 go away"), "[relay.example]") == "glitch retry down up");
    CHECK(order(at("EHLO", "421 4.3.2 shutting down"), "[relay.example]") == "glitch retry down up");
    CHECK(order(at("RCPT", "450 4.2.0 busy"), "[relay.example]") == "");
    CHECK(order(at("DATA", "451 4.3.0 later"), "[relay.example]") == "queue queue");
    CHECK(order(at("RCPT", "550 5.1.1 no"), "[relay.example]") == "first_return");
    for (const char* how : {"silent", "drops"}) {
        const auto timeline = play(std::string(one) + "[fault.x]\nhosts = \"relay.example\"\nat = \"DATA\"\nhow = \"" +
                                       how + "\"\nlasts = \"90s\"\n",
                                   relay);
        CHECK(link(timeline, "[relay.example]").delivered == 1);
        CHECK(link(timeline, "[relay.example]").failures >= 1);
    }
}

TEST_CASE("hosts past those that one attempt may try are owed to the next attempts") {
    std::string world(one), mx, bad;
    for (int n = 1; n <= 7; ++n) {
        mx += (n > 1 ? ", " : "") + std::string("\"mx") + std::to_string(n) + ".example\"";
        if (n < 7) bad += (n > 1 ? ", " : "") + std::string("\"mx") + std::to_string(n) + ".example\"";
    }
    world += "[domain.\"a.example\"]\nmx = [" + mx + "]\n";
    for (const std::string how : {"refuses", "silent", "replies\"\nat = \"banner\"\nreply = \"554 5.3.2 closed"}) {
        CAPTURE(how);
        const auto timeline = play(world + "[fault.x]\nhosts = [" + bad + "]\nlasts = \"10d\"\nhow = \"" + how + "\"\n",
                                   "[smtp_client]\nworkers = 1\n");
        const auto& to = of_host(timeline, "mx1.example");
        CHECK(to.delivered == 1);
        CHECK(to.delay(1) < 600);
    }
}

TEST_CASE("hosts to fall back on come behind all others, with as many tries of their own") {
    const std::string route = "[route.\"*\"]\nnext_hop = \"mx\"\nfallback = [\"[spare.example]:25\"]\n";
    const std::string world = std::string(one) + "[domain.\"a.example\"]\nmx = [\"m1.example\", \"m2.example\"]\n";
    const auto well = play(world + "[host.\"spare.example\"]\nunknown = 1.0\n", route);
    CHECK(of_host(well, "m1.example").delivered == 1);
    const auto ill = play(world + "[fault.x]\nhosts = [\"m1.example\", \"m2.example\"]\nlasts = \"10d\"\n", route);
    CHECK(of_host(ill, "m1.example").delivered == 1);
    CHECK(of_host(ill, "m1.example").delay(1) < 2);
    // One that says 5xx has spoken for the destination: nothing is to be got round.
    const auto closed = play(world + "[fault.x]\nhosts = [\"m1.example\", \"m2.example\"]\nlasts = \"10d\"\n"
                                     "how = \"replies\"\nat = \"banner\"\nreply = \"554 5.3.2 closed\"\n",
                             route);
    CHECK(of_host(closed, "m1.example").delivered == 0);
}
