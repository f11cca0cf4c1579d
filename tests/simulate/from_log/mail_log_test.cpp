// What is collected from a log, and the limits of what is kept.
#include "daemons/simulate/from_log/mail_log.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace postrider::simulate::from_log;
using namespace std::chrono_literals;
using State = Recipient::State;

namespace {

constexpr std::chrono::year_month_day today{std::chrono::year(2026), std::chrono::November, std::chrono::day(23)};

struct Log : MailLog {
    explicit Log(const Limits& limits = {}) : MailLog(today, limits) {}
    void queued(std::string_view when, std::string_view id, std::string_view sender = "ann@example.org") {
        take(fmt::format("{} mx postfix/qmgr[1]: {}: from=<{}>, size=1000, nrcpt=1 (queue active)", when, id, sender));
    }
    void delivery(std::string_view when, std::string_view id, std::string_view to, double delay,
                  std::string_view status, std::string_view text,
                  std::string_view relay = "mx.example.net[192.0.2.1]:25") {
        take(fmt::format(
            "{} mx postfix/smtp[2]: {}: to=<{}>, relay={}, delay={}, delays=0.1/0/0.2/0.3, dsn=2.0.0, status={} ({})",
            when, id, to, relay, delay, status, text));
    }
};

} // namespace

TEST_CASE("a message's way: queued, put off, delivered") {
    Log log;
    log.queued("Nov 22 10:00:00", "AAAAA1");
    log.delivery("Nov 22 10:00:01", "AAAAA1", "bob@Example.NET", 1, "deferred",
                 "connect to mx.example.net[192.0.2.1]:25: Connection refused", "none");
    log.delivery("Nov 22 10:15:01", "AAAAA1", "bob@Example.NET", 901, "sent", "250 ok");
    log.end();
    REQUIRE(log.recipients().size() == 1);
    const auto& one = log.recipients()[0];
    CHECK(one.state == State::delivered);
    CHECK(one.arrival == 10h);
    CHECK(one.delay == 901s);
    CHECK(log.domains()[one.domain].name == "example.net");
    REQUIRE(log.hosts().contains("mx.example.net"));
    const auto& host = log.hosts().at("mx.example.net");
    REQUIRE(host.attempts.size() == 2);
    CHECK(host.attempts[0].kind == 0);
    CHECK(host.attempts[1].kind == Attempt::passed);
    CHECK(host.connects.size() == 1);
    CHECK(log.day() == "Nov 22");
}

TEST_CASE("a day that no clock in nanoseconds counts to") {
    Log log;
    log.queued("2400-03-01T10:00:00Z", "AAAAA1");
    CHECK(log.day() == "Mar  1");
}

TEST_CASE("returned, expired, still waiting") {
    Log log;
    log.delivery("Nov 22 10:00:01", "AAAAA1", "a@example.net", 1, "bounced",
                 "host mx.example.net[192.0.2.1] said: 550 5.1.1 unknown (in reply to RCPT TO command)");
    log.delivery("Nov 22 10:00:01", "AAAAA2", "b@example.net", 1, "deferred",
                 "connect to mx.example.net[192.0.2.1]:25: Connection refused", "none");
    log.delivery("Nov 22 10:00:01", "AAAAA2", "c@example.net", 1, "sent", "250 ok");
    log.take("Nov 22 10:00:02 mx postfix/qmgr[1]: AAAAA2: from=<ann@example.org>, status=expired, returned to sender");
    log.delivery("Nov 22 10:00:03", "AAAAA3", "d@example.net", 1, "deferred",
                 "delivery temporarily suspended: connect to x[1]:25: refused", "none");
    log.take("Nov 22 10:00:04 mx postfix/bounce[1]: AAAAA1: sender non-delivery notification: BBBBB1");
    log.end();
    REQUIRE(log.recipients().size() == 4);
    CHECK(log.recipients()[0].state == State::returned);
    CHECK(log.recipients()[1].state == State::returned);
    CHECK(log.recipients()[2].state == State::delivered);
    CHECK(log.recipients()[3].state == State::waiting);
    CHECK(log.hosts().at("mx.example.net").unknown_users == 1);
    CHECK(log.hosts().at("mx.example.net").attempts.size() == 3); // suspended is not tried
    CHECK(log.messages().back().is_report);
}

TEST_CASE("mail that a content filter requeues is counted once") {
    Log log;
    log.queued("Nov 22 10:00:00", "AAAAA1");
    log.queued("Nov 22 10:00:01", "AAAAA2");
    log.delivery("Nov 22 10:00:01", "AAAAA1", "b@example.net", 1, "sent",
                 "250 2.0.0 from MTA(smtp:[127.0.0.1]:10025): 250 2.0.0 Ok: queued as AAAAA2",
                 "127.0.0.1[127.0.0.1]:10024");
    log.delivery("Nov 22 10:00:02", "AAAAA2", "b@example.net", 1, "sent", "250 2.0.0 Ok: queued as ELSEWHERE1");
    log.end();
    REQUIRE(log.recipients().size() == 2);
    CHECK(log.recipients()[0].state == State::requeued);
    CHECK(log.recipients()[1].state == State::delivered);
}

TEST_CASE("greylisting: the longest wait that was rejected and the shortest that was accepted") {
    Log log;
    const auto greylisted = "host mx.example.net[192.0.2.1] said: 450 4.7.1 greylisted (in reply to RCPT TO command)";
    log.delivery("Nov 22 10:00:00", "AAAAA1", "b@example.net", 0, "deferred", greylisted);
    log.delivery("Nov 22 10:04:00", "AAAAA1", "b@example.net", 240, "deferred", greylisted);
    log.delivery("Nov 22 10:06:00", "AAAAA1", "b@example.net", 360, "sent", "250 ok");
    const auto& host = log.hosts().at("mx.example.net");
    CHECK(host.max_rejected_wait == 241s);
    CHECK(host.min_accepted_wait == 360s);
    CHECK(host.attempts.size() == 1);
}

TEST_CASE("the turn of the year, a line out of order, a change of time zone") {
    Log log;
    log.delivery("Dec 31 23:59:58", "AAAAA1", "a@example.net", 0, "sent", "250 ok");
    log.delivery("Jan  1 00:00:02", "AAAAA2", "a@example.net", 0, "sent", "250 ok");
    log.delivery("Dec 31 23:59:59", "AAAAA3", "a@example.net", 0, "sent", "250 ok");
    CHECK(log.recipients()[0].arrival == 24h - 2s);
    CHECK(log.recipients()[1].arrival == 24h + 2s);
    CHECK(log.recipients()[2].arrival == 24h - 1s);
    CHECK(log.last() == 24h + 2s);
    Log zones;
    zones.delivery("2026-10-25T02:59:59+02:00", "AAAAA1", "a@example.net", 0, "sent", "250 ok");
    zones.delivery("2026-10-25T02:00:01+01:00", "AAAAA2", "a@example.net", 0, "sent", "250 ok");
    CHECK(zones.recipients()[1].arrival - zones.recipients()[0].arrival == 2s);
}

TEST_CASE("mail that arrived before the log begins arrives at its start") {
    Log log;
    log.delivery("Nov 22 00:00:10", "AAAAA1", "a@example.net", 7200, "sent", "250 ok");
    CHECK(log.recipients()[0].arrival == 0s);
    CHECK(log.counts().older == 1);
}

TEST_CASE("what is kept of a log is bounded") {
    Log log({.recipients = 100, .hosts = 10, .attempts = 500, .samples = 5, .kinds = 3, .hosts_per_domain = 4});
    for (int n = 0; n < 2000; ++n) {
        const auto id = fmt::format("AAAAA{}", n);
        log.queued("Nov 22 10:00:00", id, std::string(5000, 's'));
        log.delivery("Nov 22 10:00:00", id, fmt::format("a@d{}.example", n % 50), 1, n % 2 ? "sent" : "deferred",
                     fmt::format("host h{}.example[192.0.2.1] said: {} 4.{}.0 x (in reply to RCPT TO command)", n,
                                 400 + n % 60, n % 9),
                     fmt::format("h{}.example[192.0.2.1]:25", n));
        log.delivery("Nov 22 10:00:00", "AAAAA1", "a@same.example", 1, "deferred",
                     fmt::format("host h.example[192.0.2.1] said: {} 4.{}.0 x (in reply to RCPT TO command)",
                                 400 + n % 60, n % 9),
                     "h1.example[192.0.2.1]:25");
    }
    log.end();
    CHECK(log.recipients().size() == 100);
    CHECK(log.messages().size() <= 100);
    CHECK(log.messages()[0].sender.size() <= 320);
    CHECK(log.hosts().size() <= 10);
    CHECK(log.counts().over_limit > 0);
    std::size_t attempts = 0;
    for (const auto& [name, host] : log.hosts()) {
        attempts += host.attempts.size();
        CHECK(host.kinds.size() <= 3);
        CHECK(host.transmissions.size() <= 5);
    }
    CHECK(attempts <= 500);
}
