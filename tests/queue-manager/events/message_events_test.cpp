// Events of messages: whose strings they have, what is counted, and in which order they come.
#include "daemons/queue-manager/events/message_events.h"
#include "libspool/store/queue_id_source.h"
#include "tests/queue-manager/journal/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace queue_manager;
using queue_manager::test::JournalBench;
using spool::QueueId;

namespace {

struct EventBench : JournalBench {
    explicit EventBench(const std::function<void(spool::test::FakeDisk&)>& prepare = {}) {
        if (prepare) {
            REQUIRE(disk.make_directory("history", 0700));
            prepare(disk);
        }
        journal.begin();
        drain();
    }
    std::vector<nlohmann::json> recorded() {
        loader.begin();
        drain();
        write();
        return lines();
    }
    MessageLoader loader{pool, [] {}, [](QueueId, const std::string&) {}};
    MessageEvents events{journal, loader};
};

constexpr QueueId id{0x1234567890AB00};

spool::MessageState message() {
    spool::Envelope envelope;
    envelope.reverse_path = "ann@example.org";
    envelope.message_id = "<1@example.org>";
    envelope.submitter = "sasl:ann";
    envelope.recipients.resize(2);
    envelope.recipients[0].address = "bob@example.net";
    envelope.recipients[1].address = "eve@example.net";
    envelope.recipients[1].original = "Eve@example.net";
    return spool::MessageState(envelope);
}

proto::delivery::Done report() {
    proto::delivery::Done done;
    done.queue_id = id;
    done.about = spool::journal::facts_of(message().envelope);
    done.results.push_back({.recipient = 0, .outcome = smtp::Outcome::delivered, .address = "bob@example.net"});
    done.results.push_back(
        {.recipient = 1, .outcome = smtp::Outcome::failed, .reply = 1, .address = "eve@example.net"});
    done.replies.resize(2);
    done.replies[0].code = 250;
    done.replies[1].code = 550;
    return done;
}

std::string types(const std::vector<nlohmann::json>& lines) {
    std::string out;
    for (const auto& each : lines) out += (out.empty() ? "" : " ") + each.at("type").get<std::string>();
    return out;
}

} // namespace

TEST_CASE("from acceptance to the end: every event has the message's strings, the last one counts") {
    EventBench b;
    b.events.accepted(id, message(), 4711);
    b.events.ended(report());
    bool removed = false;
    const auto done = report();
    b.events.finished(id, spool::Location::incoming, &done, [&](auto) { removed = true; });
    CHECK(removed); // the report has the strings: no file is read
    const auto lines = b.recorded();
    CHECK(types(lines) == "message.accepted message.delivered message.failed message.finished");
    for (const auto& each : lines) {
        CHECK(each.at("id") == id.text());
        CHECK(each.at("sender") == "ann@example.org");
        CHECK(each.at("message_id") == "<1@example.org>");
        CHECK(each.at("submitter") == "sasl:ann");
    }
    CHECK(lines[0].at("size") == 4711);
    CHECK(lines[0].at("recipients") == std::vector<std::string>{"bob@example.net", "eve@example.net"});
    CHECK_FALSE(lines[0].contains("again"));
    CHECK(lines[2].at("by") == "remote");
    CHECK(lines[3].at("counts") == nlohmann::json{{"delivered", 1}, {"failed", 1}});
}

TEST_CASE("a message whose file cannot be read any longer has events without strings") {
    EventBench b;
    auto done = report();
    done.about = {};
    for (auto& each : done.results) each.address.clear();
    b.events.ended(done);
    bool removed = false;
    b.events.finished(id, spool::Location::incoming, nullptr, [&](auto) { removed = true; });
    CHECK_FALSE(removed);
    const auto lines = b.recorded();
    CHECK(removed);
    CHECK(types(lines) == "message.delivered message.failed message.finished");
    CHECK_FALSE(lines[2].contains("sender"));
    CHECK(lines[2].at("counts") == nlohmann::json{{"delivered", 1}, {"failed", 1}});
}

TEST_CASE("only those of an agent's deferred recipients that the engine defers have an event") {
    EventBench b;
    auto done = report();
    done.results[0].outcome = smtp::Outcome::deferred;
    b.events.deferred(done, std::vector<std::uint32_t>{0, 7}, smtp::WallTime(std::chrono::hours(1)));
    const auto lines = b.recorded();
    REQUIRE(types(lines) == "message.deferred");
    CHECK(lines[0].at("recipient") == "bob@example.net");
    CHECK(lines[0].at("next_attempt") == "1970-01-01T01:00:00.000000Z");
}

TEST_CASE("recipients that no agent gets: failed, suppressed, discarded") {
    EventBench b;
    smtp::RemoteReply reason;
    reason.status = "5.1.1";
    b.events.failed_untried(id, message(), std::vector<std::uint32_t>{0}, reason);
    reason.suppressed = true;
    b.events.failed_untried(id, message(), std::vector<std::uint32_t>{1}, reason);
    b.events.discarded(id, spool::Location::incoming,
                       {{"null@example.org", "null@example.org", "2.0.0", "as configured"}});
    b.events.verified(id, message(), std::vector<std::uint32_t>{1}, {.status = "2.1.5", .text = "deliverable"});
    const auto lines = b.recorded();
    CHECK(types(lines) == "message.failed message.suppressed message.discarded message.discarded");
    CHECK(lines[2].at("recipient") == "eve@example.net");
    CHECK(lines[2].at("text") == "deliverable");
    CHECK(lines[0].at("by") == "local");
    CHECK(lines[1].at("recipient") == "eve@example.net");
    CHECK(lines[1].at("original_recipient") == "Eve@example.net");
}

TEST_CASE("what a start finds: accepted again only what the journal does not have, with the ends that came before") {
    EventBench b;
    auto state = message();
    state.recipients[1].status = spool::Status::failed;
    b.events.found(id, spool::Location::incoming, state, 4711);
    b.events.found(QueueId{0x300}, spool::Location::messages, message(), 1);
    auto done = report();
    done.results.pop_back();
    b.events.ended(done);
    b.events.finished(id, spool::Location::incoming, &done, [](auto) {});
    b.events.found_finished(QueueId{0x400}, spool::Location::messages, message(), 100);
    const auto lines = b.recorded();
    CHECK(types(lines) == "message.accepted message.failed message.delivered message.finished message.finished");
    CHECK(lines[0].at("again") == true);
    CHECK(lines[1].at("again") == true);
    CHECK(lines[3].at("counts") == nlohmann::json{{"delivered", 1}, {"failed", 1}});
}

TEST_CASE("where the time went: of each recipient, and with the end of the message that of the last one") {
    EventBench b;
    auto done = report();
    done.backoff = 30;
    done.results[0].waited.retry = 5;
    done.results[1].waited.schedule = 7;
    b.events.ended(done);
    b.events.finished(id, spool::Location::incoming, &done, [](auto) {});
    const auto lines = b.recorded();
    REQUIRE(types(lines) == "message.delivered message.failed message.finished");
    CHECK(lines[0].at("waited") == nlohmann::json{{"link", 30}, {"retry", 5}});
    CHECK(lines[1].at("waited") == nlohmann::json{{"link", 30}, {"schedule", 7}});
    CHECK(lines[2].at("waited") == lines[1].at("waited"));
}

TEST_CASE("a message that a start finds damaged is removed; what was never accepted has no event") {
    EventBench b;
    b.events.found_damaged(id, false, "its checksum is wrong");
    b.events.found_damaged(QueueId{0x300}, true, "torn");
    const auto lines = b.recorded();
    REQUIRE(types(lines) == "message.removed");
    CHECK(lines[0].at("id") == id.text());
    CHECK(lines[0].at("who") == "queue-manager");
    CHECK(lines[0].at("why") == "its checksum is wrong");
}

TEST_CASE("an operator's changes have who and why") {
    EventBench b;
    const auto about = spool::journal::facts_of(message().envelope);
    b.events.changed(spool::journal::EventType::message_rerouted, id, about, "root", "", "next_hop", "[192.0.2.1]");
    b.events.removed(id, about, "root", "spam");
    const auto lines = b.recorded();
    CHECK(types(lines) == "message.rerouted message.removed");
    CHECK(lines[0].at("next_hop") == "[192.0.2.1]");
    CHECK(lines[1].at("who") == "root");
    CHECK(lines[1].at("why") == "spam");
}

TEST_CASE("an end that the file has and the journal has not, because of a crash, is told again") {
    spool::test::FakeDisk left; // by a queue-manager that was killed
    {
        EventBench b;
        b.events.ended(report());
        b.recorded();
        for (const auto& path : b.disk.paths()) left.set_contents(path, b.disk.contents(path));
    }
    EventBench b([&](auto& disk) {
        for (const auto& path : left.paths()) disk.set_contents(path, left.contents(path));
    });
    auto state = message();
    for (auto& recipient : state.recipients) {
        recipient.status = spool::Status::delivered;
        recipient.last_attempt = common::Loop::now().wall;
        recipient.tries = 3;
    }
    state.recipients[1].address = "other@example.net";
    b.events.found(id, spool::Location::messages, state, 1);
    const auto lines = b.recorded();
    REQUIRE(types(lines) == "message.delivered message.failed journal.gap message.accepted message.delivered");
    CHECK(lines[4].at("recipient") == "other@example.net");
    CHECK(lines[4].at("again") == true);
    CHECK(lines[4].at("attempt") == 3);
}

TEST_CASE("a result that an agent repeats after a crash is recorded once, and so is the end of its message") {
    spool::test::FakeDisk left;
    const auto done = [] {
        auto out = report();
        out.connection = 0;
        return out;
    }();
    for (int life = 0; life < 3; ++life) {
        EventBench b([&](auto& disk) {
            for (const auto& path : left.paths()) disk.set_contents(path, left.contents(path));
        });
        b.events.ended(done);
        if (life > 0) b.events.finished(id, spool::Location::incoming, &done, [](auto) {});
        const auto lines = b.recorded();
        CHECK(std::ranges::count(lines, "message.delivered", [](auto& each) { return each.at("type"); }) == 1);
        CHECK(std::ranges::count(lines, "message.finished", [](auto& each) { return each.at("type"); }) ==
              (life > 0 ? 1 : 0));
        for (const auto& path : b.disk.paths()) left.set_contents(path, b.disk.contents(path));
    }
}

namespace {

// What a queue-manager left that had just begun, and was killed.
void leave_a_beginning(spool::test::FakeDisk& disk) {
    EventBench b;
    b.events.found_finished(QueueId{0x400}, spool::Location::messages, message(), 100);
    b.recorded();
    for (const auto& path : b.disk.paths()) disk.set_contents(path, b.disk.contents(path));
}

QueueId just_accepted() {
    const auto now = common::Loop::now().wall;
    QueueId made{0x1234567890AB00};
    while (spool::time_of(made) <= now) made.value += std::uint64_t{1} << 32; // some minutes
    return made;
}

} // namespace

TEST_CASE("an acceptance that a power cut took is told again, wherever the message is by now") {
    EventBench b(leave_a_beginning);
    b.events.found(just_accepted(), spool::Location::messages, message(), 1);
    b.events.found(QueueId{0x500}, spool::Location::messages, message(), 1); // long before: the journal has it
    const auto lines = b.recorded();
    REQUIRE(types(lines) == "message.finished journal.gap message.accepted");
    CHECK(lines[2].at("id") == just_accepted().text());
    CHECK(lines[2].at("again") == true);
}

TEST_CASE("a message that the journal has as finished, and whose file a crash has left, is not accepted again") {
    EventBench b([](auto& disk) {
        EventBench before;
        before.events.found_finished(just_accepted(), spool::Location::messages, message(), 100);
        before.recorded();
        for (const auto& path : before.disk.paths()) disk.set_contents(path, before.disk.contents(path));
    });
    b.events.found(just_accepted(), spool::Location::incoming, message(), 1);
    auto done = report();
    done.queue_id = just_accepted();
    b.events.ended(done);
    b.events.finished(just_accepted(), spool::Location::incoming, &done, [](auto) {});
    const auto lines = b.recorded();
    CHECK(std::ranges::count(lines, "message.finished", [](auto& each) { return each.at("type"); }) == 1);
    CHECK_MESSAGE(types(lines).find("message.accepted") == std::string::npos, types(lines));
}

TEST_CASE("ends of every kind that a power cut took are told again") {
    EventBench b(leave_a_beginning);
    auto state = message();
    state.envelope.recipients.resize(5, state.envelope.recipients.front());
    state = spool::MessageState(state.envelope);
    const auto set = [&](std::size_t n, std::string_view address, spool::Status status) {
        state.recipients[n].address = address;
        state.recipients[n].status = status;
    };
    set(0, "list@example.net", spool::Status::expanded);
    set(1, "none@example.net", spool::Status::discarded);
    set(2, "late@example.net", spool::Status::expired);
    set(3, "gone@example.net", spool::Status::removed);
    set(4, "member@example.net", spool::Status::pending);
    state.recipients[4].origin = 0;
    b.events.found(just_accepted(), spool::Location::messages, state, 1);
    const auto lines = b.recorded();
    REQUIRE(types(lines) == "message.finished journal.gap message.accepted message.expanded message.discarded "
                            "message.expired");
    CHECK(lines[3].at("recipients") == nlohmann::json{"member@example.net"});
    CHECK(lines[5].at("recipient") == "late@example.net");
}
