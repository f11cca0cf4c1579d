#include "daemons/http/pages/parts/recent_parts.h"
#include "daemons/http/pages/parts/sparkline.h"
#include "libsmtp/text/date.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <vector>

using namespace http::pages;

TEST_CASE("a sparkline is a line from the oldest number to the latest, as high as the largest") {
    const std::vector<std::int64_t> numbers = {0, 5, 10};
    const auto markup = sparkline(numbers, "<in>").markup();
    CHECK(markup.contains("points=\"0,32.0 4,16.0 8,0.0\""));
    CHECK(markup.contains("viewbox=\"-1 -1 10 34\""));
    CHECK(markup.contains("aria-label=\"&lt;in&gt;\""));
    CHECK(sparkline(std::vector<std::int64_t>{0, 0}, "x").markup().contains("points=\"0,32.0 4,32.0\""));
    CHECK(sparkline(std::vector<std::int64_t>{7}, "x").empty());
    CHECK(sparkline({}, "x").empty());
}

TEST_CASE("the last hour: changes as people read them") {
    const auto now = *smtp::parse_rfc3339("2026-11-27T10:00:00Z");
    const nlohmann::json recent = {
        {"changes",
         {{{"time", "2026-11-27T09:59:00Z"}, {"type", "link.failed"}, {"name", "<b>"}, {"why", "<i>"}, {"count", 3}},
          {{"time", "2026-11-27T09:50:00Z"}, {"type", "of.tomorrow"}, {"who", "ann"}, {"count", 1}}}},
        {"left_out", 1234},
        {"in", {1, 2, 3}},
        {"out", nlohmann::json::array()}};
    const auto markup = changes_of(recent, now).markup();
    CHECK(markup.contains("A link backs off"));
    CHECK(markup.contains("href=\"/links/%3Cb%3E\""));
    CHECK(markup.contains("<bdi>&lt;b&gt;</bdi>"));
    CHECK(!markup.contains("<i>"));
    CHECK(markup.contains("of.tomorrow"));
    CHECK(markup.contains("1,234 earlier changes are left out"));
    CHECK(traffic_of(recent).markup().contains("6 messages in 3 minutes, at most 3 in one minute"));
    CHECK(changes_of(nlohmann::json::object(), now).empty());
    CHECK(traffic_of(nlohmann::json("odd")).empty());
}
