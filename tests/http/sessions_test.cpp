#include "daemons/http/sessions.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace http;
using namespace std::chrono_literals;

namespace {

constexpr smtp::Monotonic start{};
const Sessions::Owner shop = Sessions::TokenHash{"5e0b"}, root = Sessions::UserId{0};

} // namespace

TEST_CASE("a session lasts until it ends or its lifetime is over") {
    Sessions sessions(12h);
    sessions.begin("one", shop, "form one", start);
    sessions.begin("two", root, "form two", start + 1h);
    CHECK(!sessions.find("three", start));
    CHECK(!sessions.find("", start));
    REQUIRE(sessions.find("one", start + 1h));
    CHECK(sessions.find("one", start + 1h)->form_token == "form one");
    CHECK(std::get<Sessions::TokenHash>(sessions.find("one", start + 1h)->owner).text == "5e0b");
    CHECK(std::get<Sessions::UserId>(sessions.find("two", start + 1h)->owner).number == 0);
    CHECK(sessions.find("one", start + 12h - 1s));
    CHECK(!sessions.find("one", start + 12h));
    CHECK(sessions.find("two", start + 12h));
    sessions.end("two");
    CHECK(!sessions.find("two", start + 2h));
    CHECK(sessions.size() == 0);
}

TEST_CASE("of one owner and of all, the oldest makes room") {
    Sessions sessions(12h);
    sessions.begin("root", root, "", start);
    for (std::size_t i = 0; i <= Sessions::most_of_owner; ++i)
        sessions.begin(fmt::format("shop {}", i), shop, "", start + std::chrono::seconds(i));
    CHECK(sessions.size() == Sessions::most_of_owner + 1);
    CHECK(sessions.find("root", start + 1min));
    CHECK(!sessions.find("shop 0", start + 1min));
    CHECK(sessions.find("shop 1", start + 1min));
    for (std::size_t i = 0; i < Sessions::most; ++i)
        sessions.begin(fmt::format("user {}", i), Sessions::UserId{static_cast<std::uint32_t>(i + 1)}, "",
                       start + 2min);
    CHECK(sessions.size() == Sessions::most);
    CHECK(!sessions.find("root", start + 2min));
    sessions.begin("new", root, "", start + 13h);
    CHECK(sessions.size() == 1);
}
