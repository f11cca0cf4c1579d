// The list of nodes, from the store's answers, by a clock that is moved by hand.
#include "daemons/fleet/node_list.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace fleet;

namespace {

redis::Reply text(std::string what) {
    return {.kind = redis::Reply::Kind::text, .text = std::move(what), .elements = {}};
}
redis::Reply list(std::vector<redis::Reply> all) {
    return {.kind = redis::Reply::Kind::list, .text = {}, .elements = std::move(all)};
}

std::string entry(std::chrono::milliseconds seen, const NodeFacts& facts) {
    return std::to_string(seen.count()) + " " + facts.text();
}

} // namespace

TEST_CASE("facts as text, and text of other releases") {
    const NodeFacts facts{.version = "1.2",
                          .instance = "ab",
                          .stopped = true,
                          .messages = 7,
                          .accepting = true,
                          .delivering = true,
                          .lag = 3,
                          .waiting = 4,
                          .clock = -5};
    CHECK(NodeFacts::parse(facts.text()) == facts);
    const auto newer = NodeFacts::parse(R"({"version":"9","later":[1],"messages":"many"})");
    REQUIRE(newer);
    CHECK(newer->version == "9");
    CHECK(newer->messages == -1);
    for (const std::string bad : {"", "[]", "{", "7"}) CHECK_FALSE(NodeFacts::parse(bad));
    CHECK_FALSE(NodeFacts::parse("{\"version\":\"" + std::string(NodeFacts::longest, 'x') + "\"}"));
}

TEST_CASE("present, silent and stopped nodes; the difference of the clocks") {
    NodeList nodes("mx1");
    // The store's clock says 1000.5 s in the middle of a call of 20 ms; ours is 100 ms ahead.
    const smtp::Now sent{smtp::Monotonic(50s), smtp::WallTime(1000s + 590ms)};
    const smtp::Now now{smtp::Monotonic(50s + 20ms), smtp::WallTime(1000s + 610ms)};
    const auto reply =
        list({text("1000"), text("500000"), text(""), text("mx2"), text(entry(990500ms, {.instance = "b"})),
              text("mx1"), text(entry(1000500ms, {.instance = "a"})), text("mx3"),
              text(entry(900500ms, {.instance = "c", .stopped = true})), text("odd"), text("nonsense")});
    REQUIRE(nodes.take(reply, "a", sent, now));
    CHECK(nodes.clock_difference() == 100ms);
    REQUIRE(nodes.nodes().size() == 3);
    CHECK(nodes.nodes()[0].name == "mx1");
    CHECK(nodes.nodes()[1].name == "mx2");
    CHECK(nodes.age_of(nodes.nodes()[1], now.monotonic) == 10s);
    CHECK(nodes.count_present(now.monotonic) == 2);
    CHECK(nodes.silent_names(now.monotonic).empty());
    CHECK(nodes.silent_names(now.monotonic + 6s) == "mx2"); // not this node itself, nor one that was stopped
    CHECK(nodes.count_present(now.monotonic + 6s) == 1);
    CHECK_FALSE(nodes.has_namesake());
}

TEST_CASE("names that are none, and many of them") {
    NodeList nodes("mx1");
    std::vector<redis::Reply> parts{text("1000"), text("0"), text("")};
    for (const std::string name : {"two words", "a\x1b[1m", "b\n", "", "mx,2"})
        parts.insert(parts.end(), {text(name), text(entry(1000000ms, {.instance = "x"}))});
    for (int n = 0; n < 500; ++n)
        parts.insert(parts.end(), {text("n" + std::to_string(1000 + n)), text(entry(900000ms, {.instance = "x"}))});
    const smtp::Now now{smtp::Monotonic(50s), smtp::WallTime(1000s)};
    REQUIRE(nodes.take(list(parts), "a", now, now));
    CHECK(nodes.nodes().size() == 500);
    const auto silent = nodes.silent_names(now.monotonic);
    CHECK(silent.starts_with("n1000, n1001, "));
    CHECK(silent.ends_with("n1009 and 490 more"));
}

TEST_CASE("another node with this one's name") {
    NodeList nodes("mx1");
    const smtp::Now now{smtp::Monotonic(50s), smtp::WallTime(1000s)};
    const auto answer = [](const std::string& former) {
        return list({text("1000"), text("0"), text(former.empty() ? "" : entry(1000000ms, {.instance = former}))});
    };
    REQUIRE(nodes.take(answer("before"), "a", now, now)); // what this node left before it was started again
    CHECK_FALSE(nodes.has_namesake());
    REQUIRE(nodes.take(answer("a"), "a", now, now));
    CHECK_FALSE(nodes.has_namesake());
    REQUIRE(nodes.take(answer("other"), "a", now, now));
    CHECK(nodes.has_namesake());
}

TEST_CASE("what is no answer changes nothing") {
    NodeList nodes("mx1");
    const smtp::Now now{smtp::Monotonic(50s), smtp::WallTime(1000s)};
    for (const auto& bad :
         {text("x"), list({}), list({text("1000"), text("0")}), list({text("x"), text("0"), text("")}),
          list({text("1000"), text("1000000"), text("")}), list({text("9999999999999999"), text("0"), text("")}),
          list({text("1000"), text("0"), text(""), text("mx2")})})
        CHECK_FALSE(nodes.take(bad, "a", now, now));
    CHECK(nodes.nodes().empty());
}
