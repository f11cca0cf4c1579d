#include "daemons/common/text/idn.h"
#include <doctest/doctest.h>

TEST_CASE("domains in the letters of the DNS") {
    CHECK(idn::ascii_domain("Example.ORG") == "example.org");
    CHECK(idn::ascii_domain("[IPv6:::1]") == "[ipv6:::1]");
    CHECK(idn::ascii_domain("b\xc3\xbc\x63her.example") == "xn--bcher-kva.example");
    CHECK(idn::ascii_domain("B\xc3\x9c\x43HER.Example") == "xn--bcher-kva.example");
    CHECK(idn::ascii_domain("bu\xcc\x88\x63her.example") == "xn--bcher-kva.example"); // composed first
    CHECK(idn::ascii_domain("xn--bcher-kva.example") == "xn--bcher-kva.example");
    CHECK(idn::ascii_domain("stra\xc3\x9f\x65.example") == "xn--strae-oqa.example"); // IDNA 2008: no ss
    CHECK(idn::ascii_domain("\xe4\xbe\x8b\xe3\x81\x88.\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88") ==
          "xn--r8jz45g.xn--zckzah");
    for (auto none : {"\xe2\x80\xa8.example", "b\xc3", "\xff.example", "\xc3\xbc..example", "\xc3\xbc.example/"})
        CHECK_MESSAGE(idn::ascii_domain(none).empty(), none);
}

TEST_CASE("names are compared in one form") {
    CHECK(idn::folded("Ann.Lee") == "ann.lee");
    CHECK(idn::folded("J\xc3\x96RG") == "j\xc3\xb6rg");
    CHECK(idn::folded("Jo\xcc\x88rg") == "j\xc3\xb6rg");
    CHECK(idn::folded("\xce\xa3\xce\x91\xce\xa3") == idn::folded("\xcf\x83\xce\xb1\xcf\x82"));
    CHECK(idn::folded("A\xff") == "a\xff");
}
