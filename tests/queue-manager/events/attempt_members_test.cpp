// An attempt as members of an event: what the agent reports, and nothing where it says nothing.
#include "daemons/queue-manager/events/attempt_members.h"
#include <doctest/doctest.h>

using queue_manager::append_attempt;
using queue_manager::remote_of;
using queue_manager::RemoteHost;

TEST_CASE("a host as agents name it: name, address and port") {
    CHECK(remote_of("mx.example.org[192.0.2.1]:25") == RemoteHost{"mx.example.org", "192.0.2.1", 25});
    CHECK(remote_of("mx.example.org[2001:db8::1]:2525") == RemoteHost{"mx.example.org", "2001:db8::1", 2525});
    CHECK(remote_of("localhost[/run/lmtp]") == RemoteHost{"localhost", "/run/lmtp", 0});
    CHECK(remote_of("mx.example.org") == RemoteHost{"mx.example.org", "", 0});
    CHECK(remote_of("") == RemoteHost{});
    CHECK(remote_of("]odd[:x") == RemoteHost{"]odd[:x", "", 0});
}

TEST_CASE("an attempt's members") {
    const auto written = [](const proto::delivery::Done& done) {
        std::string out;
        spool::journal::JsonObject object(out);
        queue_manager::append_attempt(object, done, done.results.at(0));
        object.close();
        return out;
    };
    proto::delivery::Done done;
    done.results.push_back({.recipient = 3, .address = "ann@example.org", .attempt = 2});
    CHECK(written(done) == R"({"recipient":"ann@example.org","attempt":2})"); // an odd agent: no reply
    done.results[0].original = "Ann@example.org";
    done.queue = "example.org@fast";
    done.link = "example.org";
    done.route = "*.org";
    done.in_queue = 5'000'000;
    done.setup = {.dns = 2'000, .connect = 999, .tls = 3'000, .session = 4'000};
    done.pause = 7;
    done.backoff = 60;
    done.results[0].waited = {.schedule = 1, .hold = 2, .pause = 3, .link = 0, .retry = 4};
    done.host = "mx.example.org[192.0.2.1]:25";
    done.source = "192.0.2.9";
    done.tls = "none";
    done.connection_use = 4;
    done.transmission = 12'900;
    done.replies = {{.status = "4.2.2",
                     .text = "host said: 452 full",
                     .remote_reply = "452 4.2.2 full",
                     .stage = smtp::Stage::rcpt,
                     .code = 452,
                     .in_doubt = true}};
    done.rules = {"452 at RCPT is temporary"};
    CHECK(written(done) ==
          R"({"recipient":"ann@example.org","original_recipient":"Ann@example.org","queue":"example.org@fast",)"
          R"("link":"example.org","route":"*.org","attempt":2,)"
          R"("remote":{"host":"mx.example.org","address":"192.0.2.1","port":25},"source_address":"192.0.2.9",)"
          R"("connection_use":4,"stage":"rcpt","code":452,"status":"4.2.2","text":"host said: 452 full",)"
          R"("in_doubt":true,"class":"mailbox-full","rule":"452 at RCPT is temporary",)"
          R"("took":{"queue":5000,"dns":2,"tls":3,"session":4,"data":12},)"
          R"("waited":{"schedule":1,"hold":2,"pause":10,"link":60,"retry":4}})");
}

TEST_CASE("the dialogue has the last lines that concern the recipient, within its bounds") {
    const auto written = [](const proto::delivery::Done& done, std::uint32_t recipient) {
        std::string out;
        spool::journal::JsonObject object(out);
        queue_manager::append_dialogue(object, done, recipient);
        object.close();
        return out;
    };
    proto::delivery::Done done;
    CHECK(written(done, 0) == "{}");
    done.dialogue = {{0, "S: 220 mx"}, {1, "C: RCPT a"}, {5, "C: RCPT b"}, {1, "S: 250 Ok"}, {5, "S: 550 \"no\""}};
    CHECK(written(done, 0) == R"({"dialogue":["S: 220 mx","C: RCPT a","S: 250 Ok"]})");
    CHECK(written(done, 4) == R"({"dialogue":["S: 220 mx","C: RCPT b","S: 550 \"no\""]})");
    done.dialogue.assign(50, {0, std::string(10, 'x')});
    CHECK(written(done, 0).size() == 20 * 13 + sizeof R"({"dialogue":[]})" - 2);
    done.dialogue.assign(50, {0, std::string(1000, 'x')});
    CHECK(written(done, 0).size() == 2 * 1003 + sizeof R"({"dialogue":[]})" - 2);
}
