// Parsing the log lines of Postfix and Postrider.
#include "daemons/simulate/from_log/log_line.h"
#include <doctest/doctest.h>
#include <string>

using namespace postrider::simulate::from_log;
using namespace std::chrono_literals;

namespace {

template <class What> What read(const std::string& text, std::string_view id = "4ABCDE12") {
    const std::string line = "Nov  3 09:05:02 mx postfix/smtp[123]: " + text;
    const auto found = read_line(line);
    REQUIRE(found);
    CHECK(found->id == id);
    REQUIRE(std::holds_alternative<What>(found->what));
    What out = std::get<What>(found->what);
    if constexpr (std::is_same_v<What, Delivery>) CHECK(line.find(out.status) != line.npos);
    return out;
}

} // namespace

TEST_CASE("timestamps of traditional syslog and of RFC 3339") {
    std::string_view text = "Nov  3 09:05:02 mx";
    auto time = read_time(text);
    REQUIRE(time);
    CHECK(time->year == 0);
    CHECK(time->month == 11);
    CHECK(time->day == 3);
    CHECK(time->time == 9h + 5min + 2s);
    CHECK(text == " mx");

    text = "2026-11-23T19:52:02.250000-05:30 mx";
    time = read_time(text);
    REQUIRE(time);
    CHECK(time->year == 2026);
    CHECK(time->time == 19h + 52min + 2s + 250ms);
    CHECK(time->zone == -(5h + 30min));

    for (std::string_view bad :
         {"", "Nov", "Nov 32 09:05:02", "Nov  3 24:05:02", "Nop  3 09:05:02", "2026-13-01T00:00:00Z", "2026-01-01 ",
          "9999999-01-01T00:00:00Z", "2026-11-23T19:52:02+99:00", "Nov  3 9:5"})
        CHECK_FALSE(read_time(bad));
}

TEST_CASE("a delivery's line") {
    const std::string all =
        "4ABCDE12: to=<bob@example.net>, orig_to=<list@example.org>, relay=mx.example.net[192.0.2.1]:2525, conn_use=3, "
        "delay=3662, delays=3600/61/0.25/0.5, dsn=2.0.0, status=sent (250 2.0.0 Ok: queued as 9XY)";
    const std::string line = "Nov  3 09:05:02 mx postfix/smtp[123]: " + all;
    const auto found = read_line(line);
    REQUIRE(found);
    CHECK(found->id == "4ABCDE12");
    const auto& what = std::get<Delivery>(found->what);
    CHECK(what.recipient == "bob@example.net");
    REQUIRE(what.relay);
    CHECK(what.relay->name == "mx.example.net");
    CHECK(what.relay->port == 2525);
    CHECK(what.reused);
    CHECK(what.delay == 3662s);
    CHECK(what.connect == 250ms);
    CHECK(what.transmission == 500ms);
    CHECK(what.status == "sent");
    CHECK(what.text == "250 2.0.0 Ok: queued as 9XY");
}

TEST_CASE("the other lines about a message") {
    const std::string from = "4ABCDE12: from=<ann@example.org>, size=4096, nrcpt=2 (queue active)";
    const std::string line = "2026-11-03T09:05:02+00:00 mx postrider/qmgr[9]: " + from + "\r";
    const auto queued = read_line(line);
    REQUIRE(queued);
    CHECK(std::get<Queued>(queued->what).sender == "ann@example.org");
    CHECK(std::get<Queued>(queued->what).size == 4096);
    read<Expired>("4ABCDE12: from=<ann@example.org>, status=expired, returned to sender");
    read<Reported>("4ABCDE12: sender non-delivery notification: 5FFFF01");
    read<HostFailure>("connect to mx.example.net[192.0.2.1]:25: Connection refused", "");
    read<HostFailure>("4ABCDE12: host mx.example.net[192.0.2.1] said: 450 4.2.0 later (in reply to RCPT TO command)");
    CHECK(std::get<Queued>(read_line("Nov  3 09:05:02 a b[1]: 4ABCDE12: from=<>, size=1, nrcpt=1 (queue active)")->what)
              .sender.empty());
}

TEST_CASE("relays with a port, without one, and invalid ones") {
    CHECK(Relay::parse("mx[192.0.2.1]")->port == 0);
    CHECK(Relay::parse("mx[2001:db8::1]:25")->port == 25);
    for (const char* none :
         {"local", "none", "[192.0.2.1]:25", "mx[192.0.2.1]:0", "mx[192.0.2.1]:99999", "mx[", "mx]x[", "mx[1]x25"})
        CHECK_FALSE(Relay::parse(none));
}

TEST_CASE("irrelevant and malformed lines are ignored") {
    for (const char* line :
         {"", "Nov  3 09:05:02 mx postfix/smtpd[1]: connect from a[192.0.2.1]",
          "Nov  3 09:05:02 mx sshd[1]: Accepted password for bob",
          "Nov  3 09:05:02 mx postfix/smtpd[1]: NOQUEUE: reject: RCPT from a[192.0.2.1]: 554 5.7.1 no; from=<a@b> "
          "to=<c@d>",
          "Nov  3 09:05:02 mx postfix/qmgr[1]: 4ABCDE12: removed",
          "4ABCDE12: to=<bob@example.net>, relay=none, delay=1, status=sent (x)",
          "Nov  3 09:05:02 mx postfix/smtp[1]: 4ABCDE12: to=<bob@example.net>, relay=none, delay=-1, status=sent (x)",
          "Nov  3 09:05:02 mx postfix/smtp[1]: 4ABCDE12: to=<bob@example.net>, relay=none, delay=nan, status=sent (x)",
          "Nov  3 09:05:02 mx postfix/smtp[1]: 4ABCDE12: to=<bob@example.net, relay=none, delay=1, status=sent (x)"})
        CHECK_FALSE(read_line(line));
}
