#include "daemons/http/pages/frame/api_client.h"
#include <doctest/doctest.h>
#include <memory>
#include <optional>

using namespace http;
using namespace http::pages;
using nlohmann::json;

namespace {

// A route whose answers come as lines when the test says so.
struct Lines {
    Lines() {
        router.add({.method = "POST",
                    .path = "/v1/lines",
                    .scope = tokens::Scope::operate,
                    .accepts = {json_type},
                    .handle = [this](const std::shared_ptr<Call>& call) {
                        asked = call;
                        call->shared_exchange()->on_gone([this] { gone = true; });
                    }});
        caller.scopes = tokens::Scopes{};
        caller.scopes.add(tokens::Scope::operate);
    }
    GiveUp ask() {
        const auto exchange = std::make_shared<web::Exchange>(web::Request{}, web::Exchange::Wakers{});
        const Call page(exchange, {}, caller);
        return collect_from_api(router, page, {.method = "POST", .segments = {"v1", "lines"}, .body = {{"a", 1}}},
                                [this](ApiAnswer given) {
                                    ++answers;
                                    answer = std::move(given);
                                });
    }
    web::Exchange& stream() const { return *asked->shared_exchange(); }
    void begin() const { stream().begin_stream({.status = 200, .type = std::string(lines_type), .body = {}}); }

    Router router;
    Caller caller;
    std::shared_ptr<Call> asked;
    std::optional<ApiAnswer> answer;
    int answers = 0;
    bool gone = false;
};

} // namespace

TEST_CASE("lines are collected until they end") {
    Lines lines;
    const auto give_up = lines.ask();
    lines.begin();
    lines.stream().write("{\"n\":1}\n{\"n\"");
    lines.stream().write(":2}\n");
    CHECK(lines.answers == 0);
    lines.stream().end();
    CHECK(lines.answers == 1);
    CHECK(lines.answer->good());
    CHECK(lines.answer->whole);
    CHECK(lines.answer->body == json::parse(R"([{"n":1},{"n":2}])"));
    give_up();
    lines.asked.reset();
    give_up();
    CHECK(lines.answers == 1);
    CHECK(!lines.gone);
}

TEST_CASE("what has come is there when the rest is given up") {
    Lines lines;
    const auto give_up = lines.ask();
    SUBCASE("of some lines") {
        lines.begin();
        lines.stream().write("{\"n\":1}\n{\"n\":");
        give_up();
        CHECK(lines.answer->body == json::parse(R"([{"n":1}])"));
        CHECK(lines.gone);
        lines.stream().write("{\"n\":2}\n");
        lines.stream().end();
    }
    SUBCASE("before the first") {
        give_up();
        CHECK(lines.answer->body.empty());
        lines.asked->respond(Problem{503, "unavailable", "Too late."});
    }
    CHECK(lines.answers == 1);
    CHECK(!lines.answer->whole);
}

TEST_CASE("too many lines are cut") {
    Lines lines;
    const auto give_up = lines.ask();
    lines.begin();
    const auto line = json{{"n", std::string(1000, 'x')}}.dump() + "\n";
    for (int i = 0; i < 2000 && lines.answers == 0; ++i) lines.stream().write(line);
    CHECK(lines.answers == 1);
    CHECK(!lines.answer->whole);
    CHECK(lines.answer->body.size() > 1000);
    CHECK(lines.answer->body.size() < 1100);
}

TEST_CASE("errors are answers, too") {
    Lines lines;
    const auto check = [&lines](unsigned status, std::string_view detail) {
        CHECK(lines.answers == 1);
        CHECK(lines.answer->status == status);
        CHECK(lines.answer->detail() == detail);
    };
    SUBCASE("of the route") {
        const auto give_up = lines.ask();
        lines.asked->respond(Problem{400, "invalid-request", "No such address."});
        check(400, "No such address.");
    }
    SUBCASE("of the scope") {
        lines.caller.scopes = {};
        lines.ask()();
        CHECK(lines.answers == 1);
        CHECK(lines.answer->status == 403);
    }
    SUBCASE("of the path") {
        lines.router = {};
        lines.ask()();
        check(404, "The API has no such path.");
    }
}
