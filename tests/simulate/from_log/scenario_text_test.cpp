// Scenarios derived from logs: valid, and true to the log.
#include "daemons/simulate/from_log/comparison.h"
#include "daemons/simulate/from_log/incidents.h"
#include "daemons/simulate/from_log/scenario_text.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace postrider::simulate;
using namespace postrider::simulate::from_log;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::year_month_day today{std::chrono::year(2026), std::chrono::November, std::chrono::day(23)};

std::string line(int second, std::string_view rest) {
    return fmt::format("Nov 22 {:02}:{:02}:{:02} mx postfix/smtp[2]: {}", second / 3600, second / 60 % 60, second % 60,
                       rest);
}
std::string delivery(int second, std::string_view id, std::string_view to, int delay, std::string_view status,
                     std::string_view text, std::string_view relay = "mx.example.net[192.0.2.1]:25") {
    return line(second, fmt::format("{}: to=<{}>, relay={}, delay={}, delays=0/0/0.2/0.4, dsn=2.0.0, status={} ({})",
                                    id, to, relay, delay, status, text));
}

Scenario parsed(const std::string& text) {
    CAPTURE(text);
    auto read = parse(text, "scenario");
    if (!read)
        for (const auto& problem : read.error()) MESSAGE(problem.to_string());
    REQUIRE(read);
    return *std::move(read);
}

// Tries every ten seconds, of which some fail.
HostRecord conduct(int tries, auto fails) {
    HostRecord out;
    out.kinds.push_back(*parse_failure("connect to a[b]:25: Connection refused"));
    out.kinds.back().host.reset();
    for (int n = 0; n < tries; ++n)
        out.attempts.push_back({std::chrono::seconds(n * 10), fails(n) ? std::uint16_t{0} : Attempt::passed});
    return out;
}

} // namespace

TEST_CASE("an outage begins and ends halfway between a failure and a success") {
    const auto told = find_incidents(conduct(1000, [](int n) { return n >= 100 && n < 200; }), 3h);
    REQUIRE(told.size() == 1);
    CHECK(told[0].fault.from == 995s);
    CHECK(told[0].fault.until() == 1995s);
    CHECK(told[0].fault.share == 1);
    const auto first = find_incidents(conduct(10, [](int n) { return n >= 3; }), 3h);
    REQUIRE(first.size() == 1);
    CHECK(first[0].fault.from == 25s);
    const auto never = find_incidents(conduct(10, [](int) { return true; }), 3h);
    REQUIRE(never.size() == 1);
    CHECK(never[0].fault.from == 0s);
    CHECK(never[0].fault.until() == 3h);
}

TEST_CASE("two outages are two incidents; one without a later success lasts until the end") {
    const auto told = find_incidents(conduct(1000, [](int n) { return (n >= 100 && n < 200) || n >= 900; }), 3h);
    REQUIRE(told.size() == 2);
    CHECK(told[0].fault.from == 995s);
    CHECK(told[1].fault.from == 8995s);
    CHECK(told[1].fault.until() == 3h);
}

TEST_CASE("a host that fails half of the time is one incident with a share") {
    const auto told = find_incidents(conduct(1000, [](int n) { return n >= 100 && n < 200 && n % 2 == 0; }), 3h);
    REQUIRE(told.size() == 1);
    CHECK(told[0].fault.share == doctest::Approx(0.5).epsilon(0.02));
}

TEST_CASE("sporadic failures are a small share of the whole period") {
    const auto told = find_incidents(conduct(1000, [](int n) { return n % 250 == 3; }), 3h);
    REQUIRE(told.size() == 1);
    CHECK(told[0].fault.from == 0s);
    CHECK(told[0].fault.duration == 3h);
    CHECK(told[0].fault.share == doctest::Approx(0.004));
}

TEST_CASE("a scenario has the traffic, hosts and incidents of the log") {
    MailLog log(today);
    log.take(line(36000, "AAAAA1: from=<ann@example.org>, size=3000, nrcpt=1 (queue active)"));
    log.take(delivery(36001, "AAAAA1", "a@example.net", 1, "sent", "250 ok"));
    for (int n = 0; n < 20; ++n) // an outage of ten minutes
        log.take(delivery(40000 + n * 30, fmt::format("BBBBB{}", n), "a@example.net", 0, "deferred",
                          "conversation with mx.example.net[192.0.2.1] timed out while sending RCPT TO"));
    for (int n = 0; n < 20; ++n)
        log.take(delivery(41000 + n, fmt::format("BBBBB{}", n), "a@example.net", 1000 - n * 29, "sent", "250 ok"));
    log.take(delivery(42000, "CCCCC1", "nobody@example.net", 0, "bounced",
                      "host mx.example.net[192.0.2.1] said: 550 5.1.1 who? (in reply to RCPT TO command)"));
    log.take(delivery(42001, "DDDDD1", "x@gone.example", 1, "bounced",
                      "Host or domain name not found. Name service error for name=gone.example type=A: Host not found",
                      "none"));
    log.take(line(42002, "EEEEE1: from=<>, size=900, nrcpt=1 (queue active)"));
    log.take(delivery(42003, "EEEEE1", "b@example.net", 1, "sent", "250 ok"));
    log.end();
    const TrafficGroups played(log);
    const auto scenario = parsed(scenario_text(log, played, "mail.log"));
    CHECK(scenario.duration == 11h + 41min);
    REQUIRE(scenario.traffic.size() == 3);
    CHECK(scenario.traffic[0].name == "example.net");
    CHECK(scenario.traffic[0].arrivals.size() == 22);
    CHECK(scenario.traffic[0].arrivals[0] == 10h);
    CHECK(scenario.traffic[0].size == 3000);
    CHECK(scenario.traffic[0].sender == "ann@example.org");
    CHECK(std::ranges::count_if(scenario.traffic, &Traffic::null_sender) == 1);
    REQUIRE(scenario.domain("example.net") != nullptr);
    CHECK(scenario.domain("example.net")->mx == std::vector<std::string>{"mx.example.net"});
    REQUIRE(scenario.hosts.size() == 1);
    CHECK(scenario.hosts[0].connect == 200ms);
    CHECK(scenario.hosts[0].transaction == 400ms);
    CHECK(scenario.hosts[0].unknown == doctest::Approx(1 / 23.0).epsilon(0.01));
    REQUIRE(scenario.faults.size() == 2);
    const auto silent = std::ranges::find(scenario.faults, FaultKind::silent, &Fault::kind);
    REQUIRE(silent != scenario.faults.end());
    CHECK(silent->at == smtp::Stage::rcpt);
    CHECK(silent->from == 38000s); // halfway from 10:00:01
    CHECK(silent->until() == 40785s);
    CHECK(std::ranges::count(scenario.faults, FaultKind::no_name, &Fault::kind) == 1);
}

TEST_CASE("the scenario is valid whatever names and replies the log contains") {
    MailLog log(today);
    const char* odd[] = {"a\"b\\@ex\"\\ample.net",
                         "x@[192.0.2.1]",
                         "x@-bad-.example",
                         "x@\x01\x7f.example",
                         "x@münchen.example",
                         "no-domain",
                         "@",
                         ""};
    int second = 0;
    for (const char* to : odd)
        for (const char* relay : {"none", "we\"ird\\[1]:25", "192.0.2.7[192.0.2.7]:25", "192.0.2.7[192.0.2.7]:2525",
                                  "2001:db8::1[2001:db8::1]:25", "2001:db8::1[2001:db8::1]:26", "local"}) {
            const auto id = fmt::format("AAAAA{}", ++second);
            log.take(line(second, fmt::format("{}: from=<{}>, size=0, nrcpt=1 (queue active)", id, to)));
            log.take(delivery(second, id, to, 1, "deferred",
                              "host q\"\\[1] said: 450 4.2.0 \"\\ \x01\x7f\xff (in reply to RCPT TO command)", relay));
            log.take(delivery(second, id, to, 1, "deferred", "connect to [2001:db8::1]:25: \"\\", relay));
        }
    log.end();
    const auto scenario = parsed(scenario_text(log, TrafficGroups(log), "odd\n\"name\x01"));
    CHECK_FALSE(scenario.traffic.empty());
}

TEST_CASE("domains beyond the limit are merged into one section") {
    MailLog log(today);
    for (int n = 0; n < 1500; ++n)
        log.take(delivery(n, fmt::format("AAAAA{}", n), fmt::format("x@d{}.example", n), 0, "sent", "250 ok"));
    log.end();
    const TrafficGroups played(log);
    CHECK(played.groups().size() == TrafficGroups::most_groups + 1);
    CHECK(played.groups().back().recipients.size() == 500);
    const auto scenario = parsed(scenario_text(log, played, "mail.log"));
    CHECK(std::ranges::max(scenario.traffic, {}, [](auto& each) { return each.domains.size(); }).domains.size() == 500);
}

TEST_CASE("the comparison has the same figures for the log and the simulation") {
    MailLog log(today);
    for (int n = 0; n < 10; ++n)
        log.take(
            delivery(100 + n, fmt::format("AAAAA{}", n), "x@example.net", n, n == 9 ? "bounced" : "sent", "250 ok"));
    log.end();
    const TrafficGroups played(log);
    Timeline timeline(1h, 1h, 10);
    timeline.traffic_stats("example.net") = {
        .accepted = 10, .delivered = 8, .returned = 1, .delays = {1, 2, 3, 4, 5, 6, 7, 8}};
    const auto facts = comparison_json(log, played, timeline);
    CHECK(facts["log"]["delivered"] == 9);
    CHECK(facts["log"]["delay_longest"] == 8);
    CHECK(facts["simulated"]["delivered"] == 8);
    CHECK(facts["simulated"]["waiting"] == 1);
    CHECK(facts["traffic"][0]["traffic"] == "example.net");
    const auto text = comparison(log, played, timeline, 80);
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
        end = text.find('\n', at);
        CHECK(end - at <= 80);
    }
    CHECK(text.find("still queued                              0            1") != text.npos);
}
