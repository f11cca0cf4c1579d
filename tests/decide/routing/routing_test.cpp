#include "daemons/decide/routing/routing.h"
#include <doctest/doctest.h>

using decide::NextHop;
using decide::RouteRule;
using decide::RouteTable;

TEST_CASE("next hops are read and printed") {
    CHECK(NextHop::parse("mx") == NextHop{});
    CHECK(NextHop::parse("mx:2525") == NextHop{NextHop::Kind::recipient, "", 2525});
    CHECK(NextHop::parse("Relay.Example.net") == NextHop{NextHop::Kind::mx_of, "relay.example.net", 25});
    CHECK(NextHop::parse("relay.example.net:587") == NextHop{NextHop::Kind::mx_of, "relay.example.net", 587});
    CHECK(NextHop::parse("srv:Example.net") == NextHop{NextHop::Kind::srv, "example.net", 25});
    CHECK(NextHop::parse("srv:example.net")->to_string() == "srv:example.net");
    CHECK(NextHop::parse("srv:2525") == NextHop{NextHop::Kind::mx_of, "srv", 2525}); // a host of that name
    for (const char* odd : {"srv:", "srv:-", "srv:a b", "srv:192.0.2.1", "srv:example.net:587"})
        CHECK_FALSE(NextHop::parse(odd));
    for (const auto* misspelt : {"[300.1.2.3]:25", "[192.0.2]:25", "[192.0.2.1.1]", "lmtp:[300.1.2.3]:24"})
        CHECK_FALSE(NextHop::parse(misspelt));
    CHECK(NextHop::parse("[relay]:2525") == NextHop{NextHop::Kind::host, "relay", 2525});
    CHECK(NextHop::parse("[192.0.2.1]") == NextHop{NextHop::Kind::host, "192.0.2.1", 25});
    CHECK(NextHop::parse("[2001:DB8::1]:26") == NextHop{NextHop::Kind::host, "2001:db8::1", 26});
    NextHop ours{NextHop::Kind::host, "relay", 587};
    ours.account = "ann@example.com";
    CHECK(NextHop::parse("ann@example.com@[Relay]:587") == ours);
    for (auto text : {"ann@[relay]", "ann@example.com@[relay]:587", "x/y=z@[2001:db8::1]:26", "mx@[mx]"})
        CHECK(NextHop::parse(text)->to_string() == text);
    for (const char* odd :
         {"@[relay]", "a b@[relay]", "a:b@[relay]", "a[b]@[relay]", "a,b@[relay]", "a*@[relay]", "ann@relay",
          "lmtp:ann@[relay]", "ann@lmtp:[relay]", "ann@[relay", "\x7f@[relay]", "b\xc3\xbc@[relay]"})
        CHECK_MESSAGE(!NextHop::parse(odd), odd);
    CHECK(NextHop::parse(std::string(NextHop::longest_account, 'a') + "@[relay]"));
    CHECK_FALSE(NextHop::parse(std::string(NextHop::longest_account + 1, 'a') + "@[relay]"));
    for (auto text : {"mx", "mx:26", "relay.example.net", "relay.example.net:587", "[relay]:2525", "[192.0.2.1]",
                      "[2001:db8::1]:26"})
        CHECK(NextHop::parse(text)->to_string() == text);
    for (auto odd : {"",          "[",      "[]",        "[]:25",        "[a]25",       "[a]:",         "[a]:0",
                     "[a]:65536", "[a]:2x", "192.0.2.1", "192.0.2.1:25", "2001:db8::1", "a b",          "-a",
                     "a..b",      ".a",     "a.",        "[a b]",        "[:]",         "[fe80::1%lo]", "smtp:a"})
        CHECK_MESSAGE(!NextHop::parse(odd), odd);
}

TEST_CASE("the exact rule, then the nearest parent's, then the star") {
    const auto rule = [](const char* pattern) { return RouteRule{pattern, {{NextHop{}}}, 0}; };
    const RouteTable table(
        {rule("*"), rule(".example.com"), rule("example.com"), rule(".a.example.com"), rule("b.a.example.com")});
    struct Row {
        const char *domain, *pattern;
    } rows[] = {
        {"example.com", "example.com"},
        {"x.example.com", ".example.com"},
        {"a.example.com", ".example.com"},
        {"x.a.example.com", ".a.example.com"},
        {"b.a.example.com", "b.a.example.com"},
        {"c.b.a.example.com", ".a.example.com"},
        {"anexample.com", "*"},
        {"com", "*"},
        {"", "*"},
    };
    for (const auto& row : rows) CHECK_MESSAGE(table.find(row.domain)->pattern == row.pattern, row.domain);
    CHECK(!RouteTable({rule("example.com")}).find("example.net"));
    CHECK(!RouteTable().find("example.net"));
}
