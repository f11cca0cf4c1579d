// What a worker tells of its clients, and what it leaves out.
#include "daemons/common/config/config.h"
#include "libsmtp/text/base64.h"
#include "tests/smtpd/worker.h"
#include <algorithm>

using namespace smtpd::testing;
using Kind = proto::submission::DoorEvent::Kind;

namespace {

std::vector<std::string> try_recipients(Worker& worker, int n) {
    std::vector<std::string> replies;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        client.say("MAIL FROM:<ann@client.example>");
        for (int i = 0; i < n; ++i) replies.push_back(client.say("RCPT TO:<nobody@here.example>"));
        client.say("QUIT");
    });
    return replies;
}

} // namespace

TEST_CASE("a rejected recipient is told, with who asked for it") {
    Worker worker;
    REQUIRE(try_recipients(worker, 1).front().starts_with("550"));
    REQUIRE(worker.door.size() == 1);
    const auto& event = worker.door.front();
    CHECK(event.kind == Kind::rejected);
    CHECK(event.listener == "relay");
    CHECK(event.client_address == "127.0.0.1");
    CHECK(event.sender == "ann@client.example");
    CHECK(event.recipient == "nobody@here.example");
    CHECK(event.stage == "rcpt");
    CHECK(event.code == 550);
    CHECK(event.status == "5.1.1");
    CHECK(event.text.find("User unknown") != std::string::npos);
    CHECK(event.id.empty());
    CHECK(event.sampled == 0);
}

TEST_CASE("above the rate the rest is counted, and no client waits") {
    Worker worker([](config::Config& config) { config.history.door_events_per_second = 3; });
    CHECK(try_recipients(worker, 20).size() == 20);
    std::uint64_t counted = 0;
    for (const auto& each : worker.door) counted += 1 + each.sampled;
    CHECK(worker.door.size() < 20); // a new second begins now and then
    CHECK(counted <= 20);
}

TEST_CASE("a rate of 0, or no journal: nothing is told") {
    for (const bool journal : {true, false}) {
        Worker worker([&](config::Config& config) {
            config.history.enabled = journal;
            if (journal) config.history.door_events_per_second = 0;
        });
        try_recipients(worker, 3);
        CHECK(worker.door.empty());
    }
}

TEST_CASE("a failed authentication has its user and mechanism, and no password") {
    Worker worker([](config::Config& config) { config.auth.failure_delay = {}; }, config::Service::submission,
                  [](config::Listener& listener) { listener.auth = listener.auth_without_tls = true; });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("AUTH PLAIN " + smtp::encode_base64(std::string("\0an\xffn\0secret", 12)));
        client.say("AUTH PLAIN !");
        client.say("QUIT");
    });
    REQUIRE(worker.door.size() == 2);
    CHECK(worker.door[0].kind == Kind::auth_failed);
    CHECK(worker.door[0].user == "an\xffn"); // it is made UTF-8 where it is written
    CHECK(worker.door[0].mechanism == "PLAIN");
    CHECK(worker.door[0].code == 535);
    CHECK(worker.door[1].code == 501);
    for (const auto& each : worker.door) CHECK(each.text.find("secret") == std::string::npos);
}

TEST_CASE("limits name their keys: recipients of a message, connections of a network") {
    Worker worker([](config::Config& config) {
        config.smtpd.recipients = 1;
        config.smtpd.limits.connections_per_minute = 1;
    });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("MAIL FROM:<ann@client.example>");
        client.say("RCPT TO:<bob@here.example>");
        client.say("RCPT TO:<bob@here.example>");
        Client second(worker.port);
        second.reply();
        client.say("QUIT");
    });
    REQUIRE(worker.door.size() == 2);
    CHECK(worker.door[0].kind == Kind::limit_hit);
    CHECK(worker.door[0].rule == "recipients");
    CHECK(worker.door[0].id != "");
    CHECK(worker.door[1].kind == Kind::limit_hit);
    CHECK(worker.door[1].rule == "connections_per_minute");
    CHECK(worker.door[1].stage == "connect");
}
