// What became of a message, from its events.
#include "daemons/common/history/message_history.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using history::MessageHistory;
using history::Outcome;
using nlohmann::json;

namespace {

json event(std::string_view type, std::string_view recipient = "", json more = json::object()) {
    json out = {{"type", type},
                {"id", "0C5A0000001010"},
                {"sender", "ann@shop.example"},
                {"time", "2026-11-20T12:00:00.000000Z"}};
    if (!recipient.empty()) out["recipient"] = recipient;
    out.update(more);
    return out;
}

MessageHistory history_of(const std::vector<json>& events) {
    MessageHistory history;
    for (const auto& each : events) history.add(each);
    return history;
}

const json accepted =
    event("message.accepted", "",
          {{"recipients", {"a@x.example", "b@x.example", "c@x.example"}}, {"recipients_total", 3u}, {"size", 99u}});

} // namespace

TEST_CASE("the outcome of a message is that of its recipients, the worst first") {
    CHECK(history_of({accepted}).outcome_text() == "queued");
    CHECK(history_of({accepted}).recipients_total() == 3);
    CHECK(history_of({accepted}).size() == 99);
    std::vector<json> events = {accepted, event("message.delivered", "a@x.example", {{"code", 250u}, {"text", "Ok"}})};
    CHECK(history_of(events).outcome_text() == "2 of 3 queued");
    CHECK(history_of(events).reply() == "250 Ok");
    events.push_back(event("message.deferred", "b@x.example",
                           {{"code", 451u}, {"status", "4.7.1"}, {"text", "later"}, {"attempt", 2u}}));
    CHECK(history_of(events).reply() == "451 4.7.1 later");
    events.push_back(event("message.failed", "b@x.example", {{"code", 550u}, {"text", "no"}, {"class", "recipient"}}));
    events.push_back(event("message.delivered", "c@x.example"));
    events.push_back(event("message.finished"));
    const auto history = history_of(events);
    CHECK(history.outcome_text() == "1 of 3 failed");
    CHECK(history.reply() == "550 no");
    CHECK(history.finished());
    CHECK(history.recipients()[1].failure_class == "recipient");
    CHECK(history.recipients()[1].attempts == 2);
    CHECK(history.events() == 6);
}

TEST_CASE("operators hold, release, remove and transfer messages") {
    CHECK(history_of({accepted, event("message.held")}).outcome_text() == "held");
    CHECK(history_of({accepted, event("message.held"), event("message.released")}).outcome_text() == "queued");
    const auto removed = history_of(
        {accepted, event("message.delivered", "a@x.example"), event("message.removed", "", {{"why", "spam"}})});
    CHECK(removed.outcome_text() == "2 of 3 removed");
    CHECK(removed.reply() == "spam");
    CHECK(history_of({accepted, event("message.removed"), event("message.restored")}).outcome_text() == "queued");
    CHECK(history_of({accepted, event("message.discarded", "a@x.example")}).outcome_text() == "1 of 3 discarded");
    CHECK(history_of({accepted, event("message.transferred_out")}).outcome_text() == "transferred");
}

TEST_CASE("a message whose beginning is gone, and one with very many recipients") {
    CHECK(history_of({event("message.finished")}).outcome_text() == "finished");
    CHECK(history_of({event("message.delivered", "a@x.example")}).outcome_text() == "delivered");
    MessageHistory many;
    for (int i = 0; i < 1500; ++i) many.add(event("message.delivered", fmt::format("r{}@x.example", i)));
    CHECK(many.recipients().size() == MessageHistory::most_recipients);
    CHECK(many.recipients_total() == 1500);
    CHECK(many.outcome_text() == "1000 of 1500 delivered");
}

TEST_CASE("members of the wrong type change nothing") {
    MessageHistory history;
    history.add(json::parse(R"({"type":5,"id":[],"sender":{},"recipient":1})"));
    history.add(json::parse(R"({"type":"message.accepted","recipients":{"a":1},"size":"big","recipients_total":-3})"));
    history.add(json::parse(R"({"type":"message.failed","recipient":"a@x.example","code":"550","attempt":-1})"));
    CHECK(history.id().empty());
    CHECK(history.size() == 0);
    CHECK(history.recipients_total() == 1);
    CHECK(history.outcome_text() == "failed");
}
