#include "daemons/common/history/history_summary.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using history::HistorySummary;
using nlohmann::json;

namespace {

json event(std::string_view type, const char* more) {
    json out = {{"type", type}, {"time", "2026-11-20T12:00:00.500000Z"}};
    out.update(json::parse(more));
    return out;
}

const std::vector<json> life = {
    event("message.accepted", R"({"recipients":["a@x.example","b@y.example"]})"),
    event("message.deferred", R"({"recipient":"a@x.example","code":451,"text":"later","class":"rate"})"),
    event("message.delivered", R"({"recipient":"a@x.example","code":250})"),
    event("message.failed", R"({"recipient":"b@y.example","code":550,"class":"recipient","link":"mx.y.example"})"),
};

} // namespace

TEST_CASE("events are counted by class, link, day, domain or reply") {
    auto summary = HistorySummary::parse("class");
    REQUIRE(summary);
    CHECK(summary->empty());
    for (const auto& each : life) summary->add(each);
    const auto out = summary->to_json(10);
    const auto first = json::parse(R"({"class":"-","events":2,"delivered":1,"deferred":0,"failed":0})");
    CHECK(out["groups"][0] == first);
    CHECK(out["groups_total"] == 3);
    CHECK(summary->to_json(1)["groups"].size() == 1);
    for (const auto by : HistorySummary::groupings) CHECK(HistorySummary::parse(by));
    for (const auto* by : {"colour", "", "by=class"}) CHECK_FALSE(HistorySummary::parse(by));
    auto by_domain = *HistorySummary::parse("domain");
    by_domain.add(life[3]);
    CHECK(by_domain.to_json(1)["groups"][0]["domain"] == "y.example");
    auto by_reply = *HistorySummary::parse("reply");
    for (int i = 0; i < 20'000; ++i) by_reply.add({{"text", std::to_string(i)}});
    const auto others = by_reply.to_json(1)["groups"][0];
    CHECK(others["reply"] == "(others)");
    CHECK(others["events"] == 10'000);
}

TEST_CASE("a group has a name that is not too long") {
    auto by_reply = *HistorySummary::parse("reply");
    std::string text;
    for (int i = 0; i < 150; ++i) text += "ü"; // the limit is inside of one
    by_reply.add({{"text", "x" + text}});
    const auto name = by_reply.sorted(1)[0].first;
    CHECK(name.ends_with("ü…"));
    CHECK(name.size() <= 203);
}
