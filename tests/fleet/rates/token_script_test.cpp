// What the store may answer to a question for tokens, and what is made of it. The script itself runs in
// tests/system/test_fleet_rates.py.
#include "daemons/fleet/rates/token_script.h"
#include <doctest/doctest.h>
#include <limits>

using namespace fleet;
using redis::Reply;

namespace {

Reply numbers(const std::vector<std::int64_t>& all) {
    Reply out{.kind = Reply::Kind::list, .text = {}, .elements = {}};
    for (const auto each : all)
        out.elements.push_back({.kind = Reply::Kind::integer, .number = each, .text = {}, .elements = {}});
    return out;
}

const proto::fleet::AskTokens question{.number = 7, .limit = "messages:x.example", .gap = 20'000, .count = 12};

} // namespace

TEST_CASE("tokens: what is asked, and what is answered") {
    CHECK(token_keys(question) == redis::Command{"rates", "rate:messages:x.example"});
    CHECK(token_arguments(question) == redis::Command{"20000", "12", "1000000"});
    const auto answer = tokens_in(numbers({12, 250'000, 0}), question);
    CHECK(answer.known);
    CHECK(answer.number == 7);
    CHECK(answer.count == 12);
    CHECK(answer.delay == 250'000);
    const auto nothing = tokens_in(numbers({0, 0, 30'000}), question);
    CHECK(nothing.known);
    CHECK(nothing.count == 0);
    CHECK(nothing.wait == 30'000);
}

TEST_CASE("tokens: answers that are none") {
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    const std::vector<Reply> bad = {
        {},
        numbers({}),
        numbers({12, 0}),
        numbers({12, 0, 0, 0}),
        numbers({13, 0, 0}),
        numbers({-1, 0, 0}),
        numbers({largest, 0, 0}),
        numbers({1, -1, 0}),
        numbers({1, 1'000'001, 0}),
        numbers({1, largest, 0}),
        numbers({0, 0, -1}),
        {.kind = Reply::Kind::integer, .number = 12, .text = {}, .elements = {}},
        {.kind = Reply::Kind::error, .text = "ERR", .elements = {}},
        {.kind = Reply::Kind::text, .text = "12", .elements = {}},
    };
    for (const auto& each : bad) {
        const auto answer = tokens_in(each, question);
        CHECK_FALSE(answer.known);
        CHECK(answer.number == 7);
        CHECK(answer.count == 0);
    }
    auto texts = numbers({1, 0, 0});
    texts.elements[0] = {.kind = Reply::Kind::text, .text = "1", .elements = {}};
    CHECK_FALSE(tokens_in(texts, question).known);
}
