#include "daemons/common/net/web_address.h"
#include <doctest/doctest.h>
#include <string>

using common::WebAddress;

TEST_CASE("addresses of web servers are taken apart") {
    const auto plain = WebAddress::parse("https://Hooks.Example.com");
    REQUIRE(plain);
    CHECK(*plain == WebAddress{true, "hooks.example.com", 443, "/"});
    const auto whole = WebAddress::parse("http://[2001:db8::1]:8080/a%20b/c?d=e&f");
    REQUIRE(whole);
    CHECK(*whole == WebAddress{false, "[2001:db8::1]", 8080, "/a%20b/c?d=e&f"});
    CHECK(WebAddress::parse("http://x.example")->port == 80);
}

TEST_CASE("what is no address of a web server is refused") {
    for (const auto* odd :
         {"", "hooks.example.com", "/path", "ftp://x.example/", "file:///etc/passwd", "https://", "https:///path",
          "https://me@x.example/", "https://me:word@x.example/", "https://x.example/#part", "https://x.example:0/",
          "https://x.example:70000/", "https://x.example/a b", "https://x.example/\n",
          "https://b\xc3\xbc"
          "cher.example/",
          "https://[::1/", "https://x.example:port/"})
        CHECK_MESSAGE(!WebAddress::parse(odd), std::string(odd));
    CHECK(!WebAddress::parse("https://x.example/" + std::string(WebAddress::longest, 'a')));
}

TEST_CASE("which addresses are of this host") {
    for (const auto* here : {"http://localhost/", "http://127.0.0.1/", "http://127.9.9.9:8080/", "http://[::1]/"})
        CHECK_MESSAGE(WebAddress::parse(here)->is_loopback(), here);
    for (const auto* other :
         {"http://localhost.example/", "http://192.0.2.1/", "http://[2001:db8::1]/", "http://127.0.0.1.example/"})
        CHECK_MESSAGE(!WebAddress::parse(other)->is_loopback(), other);
}
