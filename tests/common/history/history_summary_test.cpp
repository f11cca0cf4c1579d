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
    const auto first =
        json::parse(R"({"class":"-","events":2,"accepted":1,"delivered":1,"deferred":0,"failed":0,"left_out":0})");
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

TEST_CASE("events of clients are counted by their network, what limited them, and with those that were left out") {
    const std::vector<json> door = {
        event("auth.failed", R"({"client":{"address":"192.0.2.7"},"sampled":40})"),
        event("auth.failed", R"({"client":{"address":"192.0.2.200"}})"),
        event("auth.failed", R"({"client":{"address":"2001:db8:1:2:3::4"}})"),
        event("auth.failed", R"({"client":{"address":"<b>"}})"),
        event("limit.hit", R"({"client":"x","limit":"smtpd.connections"})"),
        event("journal.gap", R"({"count":7})"),
    };
    const auto counted = [&](std::string_view by) {
        auto summary = *HistorySummary::parse(by);
        for (const auto& each : door) summary.add(each);
        return summary.sorted(10);
    };
    const auto networks = counted("network");
    REQUIRE(networks.size() == 3);
    CHECK(networks[0].first == "-");
    CHECK(networks[0].second.left_out == 7);
    CHECK(networks[1].first == "192.0.2.0/24");
    CHECK(networks[1].second.total() == 2);
    CHECK(networks[1].second.left_out == 40);
    CHECK(networks[2].first == "2001:db8:1:2::/64");
    CHECK(counted("limit")[1].first == "smtpd.connections");
}

TEST_CASE("messages are counted by lane and pool") {
    auto by_lane = *HistorySummary::parse("lane");
    by_lane.add(event("message.accepted", R"({"lane":"bulk","pool":"news"})"));
    by_lane.add(event("message.delivered", R"({"lane":"bulk","pool":"news"})"));
    by_lane.add(event("message.accepted", "{}"));
    CHECK(by_lane.sorted(2)[0].first == "bulk");
    CHECK(by_lane.sorted(2)[0].second.accepted == 1);
    CHECK(by_lane.sorted(2)[0].second.delivered == 1);
    CHECK(by_lane.sorted(2)[1].first == "-");
}
