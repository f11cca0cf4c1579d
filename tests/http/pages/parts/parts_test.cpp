#include "daemons/http/pages/parts/message_parts.h"
#include "daemons/http/pages/parts/operation_texts.h"
#include "daemons/http/pages/parts/parts.h"
#include "libsmtp/text/date.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace http::pages;
using namespace std::chrono_literals;

TEST_CASE("spans, sizes and counts as people read them") {
    CHECK(span_text(0s) == "0 s");
    CHECK(span_text(59s) == "59 s");
    CHECK(span_text(60s) == "1 min");
    CHECK(span_text(61s) == "1 min 1 s");
    CHECK(span_text(3h + 5min + 7s) == "3 h 5 min");
    CHECK(span_text(24h + 10s) == "1 d");
    CHECK(span_text(-5s) == "0 s");
    CHECK(size_text(0) == "0 bytes");
    CHECK(size_text(1023) == "1023 bytes");
    CHECK(size_text(1536) == "1.5 KiB");
    CHECK(size_text(std::uint64_t{5} << 40) == "5.0 TiB");
    CHECK(count_text(0) == "0");
    CHECK(count_text(999) == "999");
    CHECK(count_text(1000) == "1,000");
    CHECK(count_text(1234567) == "1,234,567");
    CHECK(count_text(-123) == "-123");
    CHECK(count_text(-1234) == "-1,234");
    CHECK(count_text(1, "message", "messages") == "1 message");
    CHECK(count_text(2000, "message", "messages") == "2,000 messages");
}

TEST_CASE("times, and how far they are") {
    const auto now = *smtp::parse_rfc3339("2026-11-27T10:00:00Z");
    CHECK(time_of("2026-11-27T10:05:01.123Z").markup() ==
          "<time datetime=\"2026-11-27T10:05:01.123Z\">2026-11-27 10:05:01 UTC</time>");
    CHECK(time_of("").markup() == "–");
    CHECK(distance_to("2026-11-27T09:00:00Z", now).markup() ==
          "<time datetime=\"2026-11-27T09:00:00Z\" title=\"2026-11-27T09:00:00Z\">1 h ago</time>");
    CHECK(distance_to("2026-11-27T10:00:20Z", now).markup().contains(">in 20 s<"));
    CHECK(distance_to("2026-11-27T09:59:40.123456Z", now).markup().contains(">20 s ago<"));
    CHECK(distance_to("soon", now).markup() == "–");
}

TEST_CASE("a long list is shown in parts") {
    const auto is = [](const http::pages::Part& part, std::size_t from, std::size_t to) {
        return part.from == from && part.to == to;
    };
    CHECK(is(part_of(10'000, ""), 0, 100));
    CHECK(is(part_of(10'000, "9950"), 9950, 10'000));
    CHECK(is(part_of(10, "11"), 10, 10));
    CHECK(is(part_of(10, "-1"), 0, 10));
    CHECK(is(part_of(10, "99999999999999999999999"), 0, 10));
    CHECK(is(part_of(0, ""), 0, 0));
}

TEST_CASE("only the first recipients of a message are in its row") {
    nlohmann::json message = {{"id", "4F0D"}, {"state", "due"}, {"sender", ""}, {"subject", "<b>"}, {"size", 5}};
    for (int i = 0; i < 1002; ++i)
        message["recipients"].push_back({{"address", "ann@test.example"}, {"reason", "<i>"}});
    const auto table = queued_messages(nlohmann::json::array({message}), {});
    REQUIRE(table.rows.size() == 1);
    const auto markup = table_of(table).markup();
    CHECK(markup.contains("<bdi>ann@test.example</bdi>, <bdi>ann@test.example</bdi> and 1,000 more"));
    CHECK(markup.contains("&lt;b&gt;"));
    CHECK(!markup.contains("<i>"));
    CHECK(markup.contains("<td>&lt;&gt;</td>"));
}

TEST_CASE("operations have texts, by name and by what they are for") {
    CHECK(message_operation("hold")->button == "Hold");
    CHECK(message_operation("remove")->scope == tokens::Scope::remove);
    CHECK(!message_operation("pause"));
    CHECK(place_operation("pause")->button == "Pause");
    CHECK(!place_operation("hold"));
    CHECK(message_operation("force") != place_operation("force"));
    const auto dry = result_of({{"matched", 2}, {"would_change", 1}, {"changed", 0}, {"dry_run", true}}).markup();
    CHECK(dry.contains("2 messages"));
    CHECK(!dry.contains("Changed"));
}
