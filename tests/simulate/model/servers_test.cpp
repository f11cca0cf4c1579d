#include "daemons/simulate/model/servers.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace postrider::simulate;
using smtp::Stage;

namespace {

Scenario scenario_of(std::string_view text) {
    auto read = parse("[traffic.t]\ndomains = \"a.example\"\n" + std::string(text), "s.toml");
    REQUIRE_MESSAGE(read, (read ? "" : read.error().front().to_string()));
    return *read;
}

struct Side {
    explicit Side(std::string_view text) : scenario(scenario_of(text)) {}
    Scenario scenario;
    config::SmtpClient client;
    decide::queue::Random random{1};
    Servers servers{scenario, client, random};
    Server& mx = servers.at({"mx.example", 25, 10});

    Answer greet(smtp::Duration at = 0s) { return servers.greet(mx, at); }
    Answer take(smtp::Duration at = 0s) {
        RemoteRecipient recipient;
        return servers.take(mx, recipient, at);
    }
};

} // namespace

TEST_CASE("a server that is well takes mail, in about the time its manner says") {
    Side side("[host.\"mx.example\"]\ntransaction = \"1s\"\nconnect = \"100ms\"\n");
    CHECK(side.greet().ok);
    for (int n = 0; n < 100; ++n) {
        const auto answer = side.take();
        CHECK(answer.ok);
        CHECK(answer.takes >= 800ms);
        CHECK(answer.takes <= 1200ms);
    }
}

TEST_CASE("so many connections at once and no more") {
    Side side("[host.\"mx.example\"]\nconnections = 2\n");
    CHECK(side.greet().ok);
    CHECK(side.greet().ok);
    const auto third = side.greet();
    CHECK(!third.ok);
    CHECK(third.code == 421);
    CHECK(third.stage == Stage::banner);
    Servers::disconnect(side.mx);
    CHECK(side.greet().ok);
}

TEST_CASE("so many messages a minute, by its own clock, and the reply it is known for") {
    Side side("[host.\"mx.example\"]\nmessages_per_minute = 3\nover_rate = \"421 4.7.28 slow down\"\n");
    for (int n = 0; n < 3; ++n) CHECK(side.take(30s).ok);
    const auto over = side.take(59s);
    CHECK(over.code == 421);
    CHECK(over.stage == Stage::mail);
    CHECK(over.closes);
    CHECK(over.reason.status == "4.7.28");
    CHECK(side.take(60s).ok);
}

TEST_CASE("greylisting is of one recipient, from its first try on") {
    Side side("[host.\"mx.example\"]\ngreylist = \"5m\"\n");
    RemoteRecipient one, other;
    CHECK(side.servers.take(side.mx, one, 1h).code == 450);
    CHECK(side.servers.take(side.mx, one, 1h + 299s).code == 450);
    CHECK(side.servers.take(side.mx, other, 1h + 299s).code == 450);
    CHECK(side.servers.take(side.mx, one, 1h + 300s).ok);
    CHECK(!side.servers.take(side.mx, other, 1h + 300s).ok);
}

TEST_CASE("troubles: what is said, where, and how long it takes") {
    struct {
        std::string_view how;
        Stage stage;
        int code;
        bool at_greeting;
        bool gone;
        smtp::Duration most;
    } const cases[] = {
        {"how = \"refuses\"", Stage::connect, 0, true, true, 10ms},
        {"how = \"silent\"", Stage::connect, 0, true, true, 30s},
        {"how = \"silent\"\nat = \"banner\"", Stage::banner, 0, true, true, 5min + 1s},
        {"how = \"silent\"\nat = \"DATA\"", Stage::data, 0, false, true, 2min + 1s},
        {"how = \"silent\"\nat = \"END\"", Stage::final_dot, 0, false, true, 10min + 1s},
        {"how = \"busy\"", Stage::banner, 421, true, true, 1s},
        {"how = \"replies\"\nat = \"EHLO\"\nreply = \"550 5.7.1 no\"", Stage::ehlo, 550, true, true, 1s},
        {"how = \"replies\"\nat = \"MAIL\"\nreply = \"452 4.3.1 full\"", Stage::mail, 452, false, false, 1s},
        {"how = \"replies\"\nat = \"RCPT\"\nreply = \"421 4.3.2 closing\"", Stage::rcpt, 421, false, true, 1s},
        {"how = \"defers\"", Stage::final_dot, 451, false, false, 1s},
        {"how = \"rejects\"\nat = \"DATA\"", Stage::data, 554, false, false, 1s},
        {"how = \"drops\"", Stage::final_dot, 0, false, true, 1s},
    };
    for (const auto& each : cases) {
        CAPTURE(each.how);
        Side side("[fault.x]\nhosts = \"mx.example:25\"\nfrom = \"1h\"\n" + std::string(each.how) + "\n");
        CHECK(side.greet(0s).ok);
        CHECK(side.take(0s).ok);
        const auto answer = each.at_greeting ? side.greet(90min) : side.take(90min);
        CHECK(!answer.ok);
        CHECK(answer.stage == each.stage);
        CHECK(answer.code == each.code);
        CHECK(answer.closes == each.gone);
        CHECK(answer.takes <= each.most);
        CHECK(!answer.reason.text.empty());
        CHECK((each.at_greeting ? side.take(90min) : side.greet(90min)).ok);
        CHECK(side.greet(2h).ok);
        CHECK(side.servers.greet(side.servers.at({"mx.example", 26, 0}), 90min).ok); // another port
    }
}

TEST_CASE("a tarpit takes its time; half of the time is half of the messages") {
    Side slow("[fault.x]\nhosts = \"mx.example\"\nhow = \"slow\"\ntransaction = \"40s\"\n");
    CHECK(slow.take().ok);
    CHECK(slow.take().takes >= 32s);
    Side half("[fault.x]\nhosts = \"mx.example\"\nhow = \"rejects\"\nshare = 0.5\n");
    int refused = 0;
    for (int n = 0; n < 1000; ++n) refused += half.take().ok ? 0 : 1;
    CHECK(refused > 400);
    CHECK(refused < 600);
}
