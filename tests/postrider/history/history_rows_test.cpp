// Messages and events of the journal as text, as JSON, and counted.
#include "daemons/postrider/history/history_rows.h"
#include "daemons/postrider/history/history_summary.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace postrider;
using nlohmann::json;

namespace {

json event(std::uint64_t number, std::string_view type, json more) {
    json out = {{"v", 1u},      {"seq", number},          {"time", "2026-11-20T12:00:00.500000Z"},
                {"type", type}, {"id", "0C5A0000001010"}, {"sender", "ann@shop.example"}};
    out.update(more);
    return out;
}

const std::vector<json> life = {
    event(1, "message.accepted", {{"recipients", {"a@x.example", "b@y.example"}}, {"recipients_total", 2u}}),
    event(2, "message.deferred",
          {{"recipient", "a@x.example"},
           {"attempt", 1u},
           {"code", 451u},
           {"text", "later"},
           {"class", "rate"},
           {"remote", {{"host", "mx.x.example"}, {"address", "192.0.2.1"}}}}),
    event(3, "message.delivered", {{"recipient", "a@x.example"}, {"attempt", 2u}, {"code", 250u}}),
    event(4, "message.failed",
          {{"recipient", "b@y.example"}, {"code", 550u}, {"class", "recipient"}, {"link", "mx.y.example"}}),
};

FoundMessage message() {
    FoundMessage found;
    for (const auto& each : life) {
        found.history.add(each);
        found.events.push_back(each);
    }
    return found;
}

} // namespace

TEST_CASE("a message is one line, its attempts and events are below it") {
    auto table = message_table();
    add_message(table, message().history);
    const auto text = table.text(0);
    CHECK(text.find("0C5A0000001010") != std::string::npos);
    CHECK(text.find("a@x.example +1") != std::string::npos);
    CHECK(text.find("1 of 2 failed  550") != std::string::npos);
    const auto attempts = attempts_text(message(), 0);
    CHECK(attempts.starts_with("0C5A0000001010  from ann@shop.example  1 of 2 failed\n"));
    CHECK(attempts.find("mx.x.example[192.0.2.1]") != std::string::npos);
    CHECK(attempts.find("b@y.example") == std::string::npos); // failed without an attempt
    const auto all = events_text(message(), 0);
    CHECK(std::ranges::count(all, '\n') == 6);
    CHECK(all.find("message.failed") != std::string::npos);
    CHECK(event_line(life[3]).ends_with("4  message.failed  0C5A0000001010  b@y.example  550"));
}

TEST_CASE("a message as JSON") {
    const auto out = to_json(message(), false);
    CHECK(out["outcome"] == "1 of 2 failed");
    const auto wanted = json::parse(
        R"({"recipient":"b@y.example","outcome":"failed","time":"2026-11-20T12:00:00.500000Z",
        "link":"mx.y.example","reply":"550","class":"recipient"})");
    CHECK(out["recipients"][1] == wanted);
    CHECK_FALSE(out.contains("events"));
    CHECK(to_json(message(), true)["events"].size() == 4);
}

TEST_CASE("times of events") {
    CHECK(event_seconds("2026-11-20T12:00:00.500000Z") == 1'795'176'000);
    CHECK(event_seconds("") == 0);
    CHECK(event_seconds("soon") == 0);
}

TEST_CASE("events are counted by class, link, day, domain or reply") {
    auto summary = HistorySummary::parse("by=class");
    REQUIRE(summary);
    CHECK(summary->empty());
    for (const auto& each : life) summary->add(each);
    const auto out = summary->to_json(10);
    const auto first = json::parse(R"({"class":"-","events":2,"delivered":1,"deferred":0,"failed":0})");
    CHECK(out["groups"][0] == first);
    CHECK(out["groups_total"] == 3);
    CHECK(summary->to_json(1)["groups"].size() == 1);
    CHECK(summary->text(10, 0).find("recipient") != std::string::npos);
    for (const auto* by : {"link", "day", "submitter", "domain", "reply", "type"}) CHECK(HistorySummary::parse(by));
    CHECK(HistorySummary::parse("by=colour").error() ==
          "--summary by=colour: expected by=class, by=link, by=day, by=submitter, by=domain, by=reply, by=type");
    auto by_domain = *HistorySummary::parse("domain");
    by_domain.add(life[3]);
    CHECK(by_domain.to_json(1)["groups"][0]["domain"] == "y.example");
    auto by_reply = *HistorySummary::parse("reply");
    for (int i = 0; i < 20'000; ++i) by_reply.add({{"text", std::to_string(i)}});
    const auto others = by_reply.to_json(1)["groups"][0];
    CHECK(others["reply"] == "(others)");
    CHECK(others["events"] == 10'000);
}
