#include "daemons/http/requests/submission.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace http;
using proto::relayed_submission::Cause;
using proto::relayed_submission::Outcome;

namespace {

web::Request message(web::Fields parameters, web::Fields headers = {}) {
    web::Request request;
    request.method = "POST";
    request.parameters = std::move(parameters);
    request.headers = std::move(headers);
    request.headers.emplace_back("content-type", "message/rfc822");
    request.body = "Subject: x\r\n\r\ny\r\n";
    return request;
}

std::expected<SubmissionRequest, Problem> read(web::Request request, const Caller& caller = {}) {
    return read_submission(request, caller, {.message_size = 1000, .recipients = 3});
}

} // namespace

TEST_CASE("the envelope in the query") {
    const auto request =
        read(message({{"from", "a@x"}, {"to", "b@y,b@y"}, {"to", "no"}, {"lane", "bulk"}, {"meta.order", "7"}},
                     {{"idempotency-key", "k"}}));
    REQUIRE(request);
    CHECK(request->sender == "a@x");
    CHECK(request->recipients == std::vector<std::string>{"b@y"});
    REQUIRE(request->refused.size() == 1);
    CHECK(request->refused[0].address == "no");
    CHECK(request->fields == "X-Postrider-Lane: bulk\r\nX-Postrider-Meta-order: 7\r\nIdempotency-Key: k\r\n");
    CHECK(request->content.starts_with("Subject: x"));
    CHECK(read(message({{"from", ""}, {"to", "b@y"}}))->sender.empty());
}

TEST_CASE("what is wrong with a submission") {
    const auto status = [](const std::expected<SubmissionRequest, Problem>& request) {
        return request ? 0U : request.error().status;
    };
    CHECK(status(read(message({{"to", "b@y"}}))) == 400);
    CHECK(status(read(message({{"from", "a@x"}}))) == 400);
    CHECK(status(read(message({{"from", "a"}, {"to", "b@y"}}))) == 400);
    CHECK(status(read(message({{"from", "a@x"}, {"from", "b@x"}, {"to", "b@y"}}))) == 400);
    CHECK(status(read(message({{"from", "a@x"}, {"to", "b@y"}, {"x", ""}}))) == 400);
    CHECK(status(read(message({{"from", "a@x"}, {"to", "b@y"}, {"lane", "a\r\nb"}}))) == 400);
    CHECK(status(read(message({{"from", "a@x"}, {"to", "b@y"}, {"meta.a:b", "c"}}))) == 400);
    CHECK(status(read(message({{"from", "a@x"}, {"to", "1@y,2@y,3@y,4@y"}}))) == 400);
    CHECK(status(read(message({{"from", "a@x"}, {"to", "b@y"}}, {{"idempotency-key", ""}}))) == 400);
    Caller bound;
    bound.sender_domains = {"shop.example"};
    CHECK(status(read(message({{"from", "a@x"}, {"to", "b@y"}}), bound)) == 403);
    CHECK(status(read(message({{"from", ""}, {"to", "b@y"}}), bound)) == 403);
    CHECK(status(read(message({{"from", "a@SHOP.example"}, {"to", "b@y"}}), bound)) == 0);
    auto large = message({{"from", "a@x"}, {"to", "b@y"}});
    large.body.assign(1001, 'x');
    CHECK(status(read(large)) == 413);
}

TEST_CASE("the answer") {
    SubmissionRequest request;
    request.recipients = {"b@y", "c@y"};
    request.refused = {{"no", 553, "5.1.3", "Not a valid address"}};
    Outcome outcome;
    outcome.queue_id = "ID";
    outcome.suppressed = {{"c@y", "asked"}};
    const auto accepted = response_to(outcome, request);
    CHECK(accepted.status == 202);
    const auto body = nlohmann::json::parse(accepted.body);
    CHECK(body["id"] == "ID");
    std::map<std::string, std::string> states;
    for (const auto& each : body["recipients"]) states[each["address"]] = each["state"];
    CHECK(states == std::map<std::string, std::string>{{"b@y", "queued"}, {"c@y", "suppressed"}, {"no", "refused"}});
    outcome.duplicate = true;
    CHECK(response_to(outcome, request).status == 200);
    const auto status = [&](std::uint8_t exit_status, Cause cause) {
        Outcome refused;
        refused.status = exit_status;
        refused.cause = cause;
        return response_to(refused, request).status;
    };
    CHECK(status(65, Cause::key_reused) == 422);
    CHECK(status(75, Cause::key_busy) == 409);
    CHECK(status(77, Cause::suppressed) == 422);
    CHECK(status(75, Cause::unavailable) == 503);
    CHECK(status(65, Cause::other) == 400);
    CHECK(status(69, Cause::other) == 422);
    CHECK(status(75, Cause::other) == 503);
}
