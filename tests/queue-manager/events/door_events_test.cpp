// Events of clients and of links: members, bytes of strangers, and what is counted because it is too much.
#include "daemons/queue-manager/events/door_events.h"
#include "daemons/queue-manager/events/system_events.h"
#include "tests/queue-manager/journal/bench.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using proto::submission::DoorEvent;
using proto::submission::DoorEventsLost;
using queue_manager::test::JournalBench;

namespace {

struct DoorBench : JournalBench {
    DoorBench() {
        journal.begin();
        drain();
    }
    std::vector<nlohmann::json> recorded() {
        write();
        return lines();
    }
    DoorEvents events{journal};
};

} // namespace

TEST_CASE("a rejection has what there is, and nothing else") {
    DoorBench b;
    b.events.record(DoorEvent{.listener = "relay",
                              .client_name = "unknown",
                              .client_address = "192.0.2.1",
                              .helo = "client.example",
                              .protocol = "ESMTP",
                              .sender = "ann@example.org",
                              .recipient = "bob@example.net",
                              .stage = "rcpt",
                              .code = 550,
                              .status = "5.1.1",
                              .text = "no such user",
                              .sampled = 3});
    auto line = b.recorded().at(0);
    for (const auto* each : {"v", "seq", "node", "time"}) line.erase(each);
    CHECK(line == nlohmann::json::parse(R"({"type":"session.rejected","sender":"ann@example.org",
        "recipient":"bob@example.net","listener":"relay","client":{"name":"unknown","address":"192.0.2.1"},
        "helo":"client.example","protocol":"ESMTP","stage":"rcpt","code":550,"status":"5.1.1",
        "text":"no such user","sampled":3})"));
}

TEST_CASE("each kind has its type, and a limit its key") {
    DoorBench b;
    for (std::size_t n = 0; n <= static_cast<std::size_t>(DoorEvent::Kind::last_); ++n)
        b.events.record(DoorEvent{.kind = static_cast<DoorEvent::Kind>(n), .rule = "x", .first = "y"});
    const auto lines = b.recorded();
    REQUIRE(lines.size() == 5);
    CHECK(lines[0].at("rule") == "x");
    CHECK(lines[1].at("type") == "auth.failed");
    CHECK(lines[2].at("type") == "limit.hit");
    CHECK(lines[2].at("limit") == "x");
    CHECK(lines[3].at("type") == "milter.rejected");
    CHECK(lines[4].at("type") == "message.duplicate");
    CHECK(lines[4].at("id") == "y");
    CHECK(lines[4].at("sender") == "");
}

TEST_CASE("hostile bytes are one line of UTF-8, and bounded") {
    DoorBench b;
    const std::string odd = std::string("\0\n\r\"\\\xff\xc3\x28\x1b[2J", 12) + std::string(1 << 20, 'x');
    DoorEvent event;
    for (auto* text : {&event.listener, &event.client_name, &event.client_address, &event.helo, &event.protocol,
                       &event.user, &event.mechanism, &event.sender, &event.recipient, &event.id, &event.stage,
                       &event.status, &event.text, &event.rule, &event.key, &event.first})
        *text = odd;
    b.events.record(event);
    const auto lines = b.recorded(); // parsed
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].dump().size() < 32 * 1024);
    CHECK(proto::submission::bounded(event).text.size() == proto::submission::longest_door_text);
}

TEST_CASE("what smtpd left out or lost is a gap") {
    DoorBench b;
    b.events.record(DoorEventsLost{.sampled = 7, .lost = 2});
    b.events.record(DoorEventsLost{});
    const auto lines = b.recorded();
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].at("type") == "journal.gap");
    CHECK(lines[0].at("count") == 7);
    CHECK(lines[1].at("count") == 2);
}

TEST_CASE("while the journal has enough to write, events of clients are only counted; duplicates are kept") {
    DoorBench b;
    while (!b.journal.congested()) b.add();
    const auto full = Journal::most_lines;
    for (int n = 0; n < 5; ++n) b.events.record(DoorEvent{});
    b.events.record(DoorEvent{.kind = DoorEvent::Kind::duplicate});
    CHECK(b.recorded().size() == full + 1);
    b.events.record(DoorEvent{});
    const auto lines = b.recorded();
    REQUIRE(lines.size() == full + 3);
    CHECK(lines[full + 1].at("count") == 5);
    CHECK(lines[full + 2].at("type") == "session.rejected");
}

TEST_CASE("mail that waits has an event for each change of its link's or queue's state, and no other") {
    DoorBench b;
    RecentChanges recent(smtp::WallTime{});
    SystemEvents events(b.journal, recent);
    using decide::queue::Health;
    const smtp::RemoteReply why{.status = "4.4.1", .text = "Connection refused", .stage = smtp::Stage::connect};
    const auto queue = [&](Health health, std::uint32_t failures, bool changed = true) {
        events.queue({"example.org", health, failures, 4001, 12, changed, smtp::WallTime(std::chrono::hours(1)), &why});
    };
    queue(Health::glitch, 1);
    queue(Health::glitch, 2, false);
    queue(Health::retry, 3);
    queue(Health::retry, 4, false);
    queue(Health::ready, 0);
    queue(Health::glitch, 1);
    events.link({"example.org", Health::glitch, 1, 4000, 3, true, {}, &why});
    const auto lines = b.recorded();
    REQUIRE(lines.size() == 5);
    CHECK(lines[0].at("type") == "message.waiting");
    CHECK(lines[0].at("queue") == "example.org");
    CHECK(lines[0].at("state") == "glitch");
    CHECK(lines[0].at("deliveries") == 12);
    CHECK(lines[0].at("next_attempt") == "1970-01-01T01:00:00.000000Z");
    CHECK(lines[0].at("class") == "connection");
    CHECK(lines[1].at("state") == "retry");
    CHECK(lines[2].at("state") == "glitch");
    CHECK(lines[3].at("type") == "link.failed");
    CHECK(lines[4].at("type") == "message.waiting");
    CHECK(lines[4].at("link") == "example.org");
}
