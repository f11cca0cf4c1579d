#include "daemons/http/requests/draft_reader.h"
#include "daemons/http/requests/submission.h"
#include <doctest/doctest.h>

using namespace http;

namespace {

std::expected<SubmissionRequest, Problem> read(std::string_view members) {
    web::Request request;
    request.method = "POST";
    request.headers = {{"content-type", "application/json"}};
    request.body = R"({"from":"shop@test.example","to":"ann@a.example",)" + std::string(members) + "}";
    return read_submission(request, {}, {.message_size = 10'000, .recipients = 3});
}

std::string problem_with(std::string_view members) {
    const auto submission = read(members);
    return submission ? "" : submission.error().detail;
}

} // namespace

TEST_CASE("a message of its members") {
    const auto submission = read(R"("subject":"Grüße","text":"Hallo","headers":{"X-Tag":["a","b"],"Cc":"c@c.example"},)"
                                 R"("attachments":[{"name":"a.txt","type":"text/plain","content":"aGFs\r\nbG8="}])");
    REQUIRE(submission);
    CHECK(submission->content.find("Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\n") != std::string::npos);
    CHECK(submission->content.find("X-Tag: a\r\nX-Tag: b\r\n") != std::string::npos);
    CHECK(submission->content.find("\r\n\r\naGFsbG8=\r\n") != std::string::npos);
    CHECK(read(R"("text":"x","html":null,"raw":null)")->content.find("text/html") == std::string::npos);
}

TEST_CASE("members that are wrong") {
    CHECK(problem_with(R"("raw":"x","text":"y")").starts_with("\"raw\": expected it without"));
    CHECK(problem_with(R"("lane":"bulk")").starts_with("\"raw\": expected the message"));
    CHECK(problem_with(R"("subject":"x")").starts_with("One of raw, text"));
    CHECK(problem_with(R"("text":1)") == "\"text\": expected a text.");
    CHECK(problem_with(R"("text":"x","headers":{"A":1})").starts_with("\"headers\": expected texts"));
    CHECK(problem_with(R"("text":"x","headers":{"A":"b\r\nC: d"})").starts_with("headers.A: expected lines"));
    CHECK(problem_with(R"("attachments":["x"])").starts_with("\"attachments\": expected a list of objects"));
    CHECK(problem_with(R"("attachments":[{"content":"a"}])").find("\"content\": expected Base64") != std::string::npos);
    CHECK(problem_with(R"("attachments":[{"name":"a"}])").find("\"content\": expected Base64") != std::string::npos);
    CHECK(problem_with(R"("attachments":[{"content":"","size":1}])").find("\"size\"") != std::string::npos);
}

TEST_CASE("what is composed is limited") {
    CHECK(read("\"text\":\"" + std::string(9000, 'x') + "\""));
    const auto large = read("\"text\":\"" + std::string(10'000, 'x') + "\"");
    REQUIRE_FALSE(large);
    CHECK(large.error().status == 413);
}
