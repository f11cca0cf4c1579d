#include "daemons/http/integration/outbox_view.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace http;
using nlohmann::json;

namespace {

json queued(const char* recipients) {
    json out = {{"id", "0C5A0000001010"},
                {"sender", "shop@test.example"},
                {"subject", "Order"},
                {"message_id", "<a@b>"},
                {"arrival", 1'800'000'000}};
    out["recipients"] = json::parse(recipients);
    return out;
}

std::expected<OutboxPage, Problem> page(web::Fields parameters) {
    web::Request request;
    request.parameters = std::move(parameters);
    return outbox_page(request);
}

} // namespace

TEST_CASE("a message that waits") {
    const auto shown = outbox_message(queued(
        R"([{"address":"a@x","state":"due","failures":0,"next_attempt":0},
            {"address":"b@y","state":"retrying","failures":3,"next_attempt":1800000060,"reason":"450 4.2.1 later"}])"));
    CHECK(shown["queueId"] == "0C5A0000001010");
    const auto envelope = json::parse(R"({"from":"shop@test.example","to":["a@x","b@y"]})");
    CHECK(shown["envelope"] == envelope);
    CHECK(shown["created"] == "2027-01-15T08:00:00Z");
    CHECK(shown["scheduled"] == shown["created"]);
    CHECK(shown["nextAttempt"] == "2027-01-15T08:01:00Z");
    CHECK(shown["attemptsMade"] == 3);
    CHECK(shown["attempts"] == 4);
    const auto progress = json::parse(R"({"status":"error","error":{"message":"450 4.2.1 later"}})");
    CHECK(shown["progress"] == progress);
}

TEST_CASE("a message that is scheduled, delivered, or known in detail") {
    const auto scheduled =
        outbox_message(queued(R"([{"address":"a@x","state":"scheduled","failures":0,"next_attempt":1800003600}])"));
    CHECK(scheduled["scheduled"] == "2027-01-15T09:00:00Z");
    CHECK(scheduled["progress"]["status"] == "queued");
    CHECK(scheduled["attemptsMade"] == 0);
    const auto active = outbox_message(
        queued(R"([{"address":"a@x","state":"active","failures":2,"next_attempt":0,"reason":"450 later"}])"));
    CHECK(active["progress"]["status"] == "processing");
    CHECK(active["nextAttempt"].is_null());
    CHECK_FALSE(active["progress"].contains("error"));
    const auto detailed = outbox_message(queued(
        R"([{"address":"a@x","state":"retrying","failures":1,"next_attempt":9,"reason":"no",
             "attempts":[{"code":421},{"code":450}]}])"));
    CHECK(detailed["progress"]["error"]["statusCode"] == 450);
    const auto of_link = outbox_message(
        queued(R"([{"address":"a@x","state":"retrying","failures":0,"next_attempt":9,"reason":"refused"}])"));
    CHECK(of_link["progress"]["status"] == "error");
    CHECK(outbox_message(json::object())["created"].is_null());
}

TEST_CASE("pages") {
    const auto first = page({});
    REQUIRE(first);
    CHECK(first->first() == 0);
    CHECK(first->size == 20);
    CHECK(first->pages(0) == 0);
    CHECK(first->pages(41) == 3);
    CHECK(page({{"page", "3"}, {"pageSize", "50"}})->first() == 150);
    CHECK(page({{"page", "499"}}));
    for (const auto& [name, value] : web::Fields{{"page", "-1"},
                                                 {"page", "x"},
                                                 {"page", "500"},
                                                 {"pageSize", "0"},
                                                 {"pageSize", "251"},
                                                 {"pageSize", "1e3"}}) {
        CAPTURE(value);
        CHECK_FALSE(page({{name, value}}));
    }
}
