#include "daemons/decide/rewriting/masquerade.h"
#include <doctest/doctest.h>

using decide::masqueraded;
using decide::MasqueradeRules;

namespace {

MasqueradeRules hiding(std::vector<std::string> domains, std::set<std::string, std::less<>> exceptions = {}) {
    MasqueradeRules rules;
    rules.domains = std::move(domains);
    rules.exceptions = std::move(exceptions);
    return rules;
}

} // namespace

TEST_CASE("the first domain that an address is in or below decides") {
    struct Case {
        std::vector<std::string> domains;
        std::string address, shown; // "": stays
    };
    const Case cases[] = {
        {{}, "ann@host.example.com", ""},
        {{"example.com"}, "ann@host.example.com", "ann@example.com"},
        {{"example.com"}, "ann@a.b.c.example.com", "ann@example.com"},
        {{"example.com"}, "ann@example.com", ""},
        {{"example.com"}, "ann@EXAMPLE.com", ""},
        {{"example.com"}, "Ann@Host.EXAMPLE.Com", "Ann@example.com"},
        {{"example.com"}, "ann@hostexample.com", ""},
        {{"example.com"}, "ann@example.com.net", ""},
        {{"example.com"}, "ann@com", ""},
        {{"example.com"}, "ann", ""},
        {{"example.com"}, "", ""},
        {{"example.com"}, "ann@", ""},
        {{"example.com"}, "ann@[192.0.2.1]", ""},
        {{"example.com"}, "\"a@host.example.com\"@other", ""},
        {{"example.com"}, "\"a b\"@host.example.com", "\"a b\"@example.com"},
        {{"example.com"}, "ann+x@host.example.com", "ann+x@example.com"},
        // order
        {{"a.example.com", "example.com"}, "ann@x.a.example.com", "ann@a.example.com"},
        {{"a.example.com", "example.com"}, "ann@a.example.com", ""},
        {{"a.example.com", "example.com"}, "ann@x.b.example.com", "ann@example.com"},
        {{"example.com", "a.example.com"}, "ann@x.a.example.com", "ann@example.com"},
        {{"example.com", "example.net"}, "ann@x.example.net", "ann@example.net"},
        // "!"
        {{"!a.example.com", "example.com"}, "ann@x.a.example.com", ""},
        {{"!a.example.com", "example.com"}, "ann@a.example.com", ""},
        {{"!a.example.com", "example.com"}, "ann@b.example.com", "ann@example.com"},
        {{"example.com", "!a.example.com"}, "ann@x.a.example.com", "ann@example.com"},
        {{"x.a.example.com", "!a.example.com", "example.com"}, "ann@y.x.a.example.com", "ann@x.a.example.com"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.address);
        CHECK(masqueraded(hiding(each.domains), each.address).value_or("") == each.shown);
    }
}

TEST_CASE("names that are excepted stay, in any domain and case") {
    const auto rules = hiding({"example.com"}, {"root", "a b"});
    CHECK_FALSE(masqueraded(rules, "root@host.example.com"));
    CHECK_FALSE(masqueraded(rules, "Root@host.example.com"));
    CHECK_FALSE(masqueraded(rules, "\"root\"@host.example.com"));
    CHECK_FALSE(masqueraded(rules, "\"a b\"@host.example.com"));
    CHECK(masqueraded(rules, "root+x@host.example.com") == "root+x@example.com");
    CHECK(masqueraded(rules, "rooted@host.example.com") == "rooted@example.com");
}

TEST_CASE("domains are compared in the form that the caller has") {
    auto rules = hiding({"xn--bcher-kva.example"});
    rules.domain_form = [](std::string_view domain) {
        return domain == "host.b\xc3\xbc"
                         "cher.example"
                   ? std::string("host.xn--bcher-kva.example")
                   : std::string(domain);
    };
    CHECK(masqueraded(rules, "ann@host.b\xc3\xbc"
                             "cher.example") == "ann@xn--bcher-kva.example");
}
