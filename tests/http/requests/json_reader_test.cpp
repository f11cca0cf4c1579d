#include "daemons/http/requests/json_reader.h"
#include <doctest/doctest.h>

using namespace http;

TEST_CASE("JSON is bounded") {
    CHECK(read_json("{}"));
    const auto nested = [](int depth) {
        return "{\"a\":" + std::string(static_cast<std::size_t>(depth - 1), '[') +
               std::string(static_cast<std::size_t>(depth - 1), ']') + "}";
    };
    CHECK(read_json(nested(deepest)));
    CHECK_FALSE(read_json(nested(deepest + 1)));
    CHECK_FALSE(read_json(nested(100'000)));
    for (const auto* bad : {"", "[]", "1", "{", "{}{}", "{\"a\":\"\xff\"}", "{\"a\":\"\\u0000\"}", "nul"})
        CHECK_FALSE(read_json(bad));
    std::string many = "{\"a\":[0";
    for (std::size_t n = 0; n < most_values - 4; ++n) many += ",0";
    CHECK(read_json(many + "]}"));
    const auto too_many = read_json(many + ",0,0,0,0]}");
    REQUIRE_FALSE(too_many);
    CHECK(too_many.error().status == 413);
    CHECK_FALSE(read_json("{\"a\\u0000b\":1}")); // a name, too
    const auto large = "{\"raw\":\"" + std::string(2 * largest_beside_content, 'x') + "\"}";
    CHECK(read_json(large, {"raw"}));
    const auto refused = read_json(large);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == 413);
}

TEST_CASE("members are named when they are wrong") {
    const auto problem = [](const char* text, auto use) {
        const auto object = *read_json(text);
        Members members(object);
        use(members);
        const auto wrong = members.problem();
        return wrong ? wrong->detail : std::string();
    };
    CHECK(problem(R"({"a":"x","b":true,"c":3,"d":["y"],"e":null})", [](Members& members) {
              CHECK(members.text("a") == "x");
              CHECK(members.flag("b"));
              CHECK(members.number("c", 3) == 3);
              CHECK(members.texts("d", 1) == std::vector<std::string>{"y"});
              CHECK(members.text("e").empty());
          }).empty());
    CHECK(problem(R"({"a":1})", [](Members& members) { members.text("a"); }) == "\"a\": expected a text.");
    CHECK(problem(R"({"a":4})", [](Members& members) { members.number("a", 3); }) ==
          "\"a\": expected a number from 0 to 3.");
    CHECK(problem(R"({"a":-1})", [](Members& members) { members.number("a", 3); }) != "");
    CHECK(problem(R"({"a":["x","y"]})", [](Members& members) { members.texts("a", 1); }) != "");
    CHECK(problem(R"({"b":1})", [](Members&) {}) == "\"b\": expected no such member: it is unknown here.");
}
