#include "daemons/common/web/target.h"
#include <doctest/doctest.h>

using web::parse_target;

TEST_CASE("a target in its parts") {
    const auto target = parse_target("/v1/messages/a%20b?filter=link%3Dx&limit=5&flag&plus=a+b");
    REQUIRE(target);
    CHECK(target->segments == std::vector<std::string>{"v1", "messages", "a b"});
    CHECK(target->parameters == web::Fields{{"filter", "link=x"}, {"limit", "5"}, {"flag", ""}, {"plus", "a b"}});
    CHECK(parse_target("/")->segments.empty());
    CHECK(parse_target("/a%2Fb")->segments == std::vector<std::string>{"a/b"});
    CHECK(parse_target("/a?")->parameters.empty());
}

TEST_CASE("a target that could be read in two ways is rejected") {
    for (const auto* text : {"",      "a",           "*",    "http://x/", "//",       "/a//b",   "/a/",   "/./a",
                             "/a/..", "/a/%2e%2E/b", "/%2e", "/a%",       "/a%2",     "/a%gg",   "/a%00", "/a%0d%0a",
                             "/a b",  "/a\\b",       "/a#b", "/\xc3\xa4", "/a?b=%0a", "/a?b=%z", "/a\x7f"})
        CHECK_MESSAGE(!parse_target(text), text);
    CHECK_FALSE(parse_target("/" + std::string(web::longest_target, 'a')));
    std::string many = "/a?";
    for (std::size_t i = 0; i <= web::most_parameters; ++i) many += "a&";
    CHECK_FALSE(parse_target(many));
}
