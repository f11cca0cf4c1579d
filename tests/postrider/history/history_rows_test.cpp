// Messages and events of the journal as text, as JSON, and counted.
#include "daemons/postrider/history/history_rows.h"
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

TEST_CASE("counts of events as a table") {
    auto summary = *history::HistorySummary::parse("class");
    for (const auto& each : life) summary.add(each);
    CHECK(summary_text(summary, 10, 0).find("recipient") != std::string::npos);
    CHECK(std::ranges::count(summary_text(summary, 1, 0), '\n') == 2);
}
