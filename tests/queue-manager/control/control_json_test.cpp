// What operators are told: where each closed gate comes from, and the tries of a link.
#include "daemons/decide/queue/filter.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/control/explanation_json.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace decide::queue;
using namespace std::chrono_literals;

namespace {

const smtp::WallTime noon{smtp::Duration(1'790'000'000'000'000)};

spool::MessageState state() {
    spool::Envelope envelope;
    envelope.reverse_path = "a@test.example";
    envelope.recipients.emplace_back().address = "b@remote.example";
    return spool::MessageState(envelope);
}

// What explain says of a delivery that waits for this gate only.
nlohmann::json said(GateInfo gate, const spool::MessageState& message = state(),
                    const queue_manager::Pauses& pauses = {}) {
    gate.open = false;
    Explanation explanation;
    explanation.gates = {{.gate = Gate::schedule}, gate};
    const auto lines =
        queue_manager::explained(*spool::QueueId::parse("0123456789ABCD"), {explanation}, message,
                                 queue_manager::choose(message, queue_manager::Recipients::unfinished, {}), pauses);
    REQUIRE(lines.size() == 1);
    return lines[0]["gates"][1];
}

const Reason reply{"4.2.0", "host mx[192.0.2.1] said: 450 4.2.0 Not now", "450 4.2.0 Not now", "mx"};

} // namespace

TEST_CASE("explain: where each gate comes from") {
    CHECK(said({.gate = Gate::schedule})["origin"] == "requested by the sender");
    SUBCASE("hold: by whom and why") {
        auto message = state();
        REQUIRE(message.apply(spool::Held{true, noon, "ann", "look first"}));
        const auto gate = said({.gate = Gate::hold}, message);
        CHECK(gate["origin"] == "look first");
        CHECK(gate["by"] == "ann");
        CHECK(gate["advice"] == "\"postrider message release 0123456789ABCD\" releases it.");
    }
    SUBCASE("pause: the command, by whom and why") {
        const queue_manager::Pauses pauses = {{Scope::queue, "remote.example", "ann", "their move", noon}};
        const auto gate = said({.gate = Gate::pause, .scope = Scope::queue, .name = "remote.example"}, state(), pauses);
        CHECK(gate["origin"] == "command: pause queue remote.example: their move");
        CHECK(gate["by"] == "ann");
        CHECK(gate["advice"] == "\"postrider resume queue remote.example\" ends the pause.");
        CHECK(said({.gate = Gate::pause})["advice"] == "");
        CHECK(said({.gate = Gate::pause})["origin"] == "postrider is stopping");
    }
    SUBCASE("route, link, queue: what was met, marked where a peer said it") {
        for (const Gate each : {Gate::route, Gate::link, Gate::queue}) {
            CHECK(said({.gate = each, .reason = reply})["origin"] == "remote reply: " + reply.text);
            const Reason own{"4.4.1", "connect to mx[192.0.2.1]:25: Connection refused", "", ""};
            CHECK(said({.gate = each, .reason = own})["origin"] == own.text);
        }
    }
    SUBCASE("what to do about it, where its kind is known") {
        const auto advice = [](Gate gate, Reason reason) -> std::string {
            return said({.gate = gate, .reason = std::move(reason)})["advice"];
        };
        CHECK(advice(Gate::route, {"4.4.3", "try again", "", ""}).find("/etc/resolv.conf") != std::string::npos);
        const auto not_found = [&](std::string status, std::string name, bool by_srv) {
            return advice(Gate::route,
                          {.status = std::move(status),
                           .text = "Name service error for name=words.example type=SRV: they decide nothing",
                           .at = std::move(name),
                           .by_srv = by_srv});
        };
        CHECK(not_found("4.4.3", "other.example", false).find("dig MX other.example.") != std::string::npos);
        CHECK(not_found("4.4.3", "provider.example", true).find("dig SRV _submissions._tcp.provider.example.") !=
              std::string::npos);
        CHECK(not_found("4.4.4", "provider.example", true).find("the DNS names no submission server") !=
              std::string::npos);
        CHECK(not_found("4.4.3", "", false).find("dig MX") != std::string::npos);
        using smtp::Stage;
        const std::string at = "mx[192.0.2.1]:25";
        CHECK(advice(Gate::link, {"4.7.4",
                                  "there is an account, but AUTH was not offered by host mx[192.0.2.1]",
                                  "",
                                  "",
                                  Stage::auth,
                                  0,
                                  {},
                                  false,
                                  at})
                  .find("offers no AUTH") != std::string::npos);
        CHECK(advice(Gate::link,
                     {"4.7.4", "TLS is required, but AUTH was not offered", "", "", Stage::tls, 0, {}, false, at})
                  .find("TLS is required") != std::string::npos); // the words decide nothing
        CHECK(advice(Gate::link, {"4.4.1", "refused", "", "", Stage::connect, 0, {}, false, at})
                  .find("nc -vz 192.0.2.1 25") != std::string::npos);
        CHECK(advice(Gate::queue, {"4.7.5", "no trust", "", "", Stage::tls, 0, {}, false, at}).find("openssl") !=
              std::string::npos);
        CHECK(advice(Gate::link, {"4.7.1",
                                  "host mx said: 554 5.7.1 listed",
                                  "554 5.7.1 listed",
                                  "mx",
                                  Stage::banner,
                                  554,
                                  {},
                                  false,
                                  at})
                  .find("block list") != std::string::npos);
        CHECK(advice(Gate::link, reply) == ""); // nothing is known of it
        auto message = state();
        CHECK(said({.gate = Gate::ladder}, message)["advice"] == "");
        REQUIRE(message.apply(spool::Attempt{.recipients = {0},
                                             .time = noon,
                                             .reply = {450, "4.2.0", "Greylisted", spool::Stage::rcpt},
                                             .outcome = spool::Outcome::deferred}));
        CHECK(std::string(said({.gate = Gate::ladder}, message)["advice"]).find("greylisting") != std::string::npos);
    }
    SUBCASE("ladder: the recipient's last reply") {
        auto message = state();
        REQUIRE(message.apply(spool::Attempt{.recipients = {0},
                                             .time = noon,
                                             .reply = {450, "4.2.0", reply.text, spool::Stage::rcpt},
                                             .outcome = spool::Outcome::deferred}));
        CHECK(said({.gate = Gate::ladder}, message)["origin"] == "remote reply: " + reply.text);
    }
    SUBCASE("rate, window: the configuration's key") {
        for (const Gate each : {Gate::rate, Gate::window}) {
            GateInfo gate{.gate = each};
            gate.reason.text = "queue.connections_mx";
            CHECK(said(gate)["origin"] == "queue.connections_mx");
        }
    }
    CHECK(said({.gate = Gate::turn})["origin"] == "");
}

TEST_CASE("tries of a link: those since the message came") {
    const std::vector<LinkFailure> failures = {{noon - 1min, Phase::connecting, reply},
                                               {noon + 1min, Phase::session, reply}};
    CHECK(queue_manager::json_of(failures, {}).size() == 2);
    const auto since = queue_manager::json_of(failures, noon);
    REQUIRE(since.size() == 1);
    CHECK(since[0]["phase"] == "session");
    CHECK(since[0]["text"] == reply.text);
}

TEST_CASE("domain= is the recipients' domain, wherever their mail waits") {
    const auto asked = Filter::parse(std::vector<std::string>{"domain=remote.example"});
    REQUIRE(asked);
    const auto message = state();
    for (const char* queue : {"", "remote.example", "remote.example@bulk", "via:[192.0.2.1]:25", "store:local"}) {
        CAPTURE(queue);
        MessageInfo info;
        info.deliveries.emplace_back().queue = queue;
        const auto known = queue_manager::facts_of(info, nullptr, noon);
        CHECK_FALSE(asked->ruled_out(known));
        CHECK(asked->matches(asked->needs_file(known) ? queue_manager::facts_of(info, &message, noon) : known));
    }
    MessageInfo other;
    other.deliveries.emplace_back().queue = "other.example";
    CHECK(asked->ruled_out(queue_manager::facts_of(other, nullptr, noon)));
}
