#include "daemons/http/html/html.h"
#include <doctest/doctest.h>

using namespace html;

TEST_CASE("text is escaped wherever it is") {
    const std::string hostile = "<b>&\"'";
    CHECK(element("p", {{"title", hostile}}, hostile).markup() ==
          "<p title=\"&lt;b&gt;&amp;&quot;&#39;\">&lt;b&gt;&amp;&quot;&#39;</p>");
    CHECK(empty_element("input", {{"required"}, {"value", hostile}}).markup() ==
          "<input required value=\"&lt;b&gt;&amp;&quot;&#39;\">");
}

TEST_CASE("elements nest, and what is escaped is not escaped again") {
    const auto inner = element("b", {}, 7, " < ", -8);
    CHECK(element("p", {}, "x", inner).markup() == "<p>x<b>7 &lt; -8</b></p>");
    CHECK(join("a&", inner, Html()).markup() == "a&amp;<b>7 &lt; -8</b>");
    CHECK(document(element("html", {})) == "<!DOCTYPE html>\n<html></html>\n");
    CHECK(Html().empty());
}

TEST_CASE("what is not text is replaced") {
    const std::string replacement = "\xEF\xBF\xBD";
    CHECK(Html("a\nb\tc").markup() == "a\nb\tc");
    for (const auto* bad : {"\x01", "\x1b", "\x7f", "\xff", "\xc2\x80", "\xc2\x9b"}) {
        CAPTURE(bad);
        const auto shown = Html(std::string("x") + bad + "y").markup();
        CHECK(shown == "x" + replacement + "y");
    }
    CHECK(Html(std::string_view("a\0b", 3)).markup() == "a" + replacement + "b");
    CHECK(Html("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x93\xa7").markup() == "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x93\xa7");
    CHECK(Html("\xe2\x82").markup() == replacement + replacement); // cut
}

TEST_CASE("addresses lead to paths of this server, whatever they are made of") {
    CHECK(Url({}).text() == "/");
    CHECK(Url({}, {{"next", "/a?b=c&d"}}).text() == "/?next=%2Fa%3Fb%3Dc%26d");
    CHECK(Url({"messages", "a/b c"}, {{"q", ""}, {"after", "\"<x>"}}).text() == "/messages/a%2Fb%20c?after=%22%3Cx%3E");
    CHECK(Url({"links", "javascript:alert(1)"}).text() == "/links/javascript%3Aalert%281%29");
    CHECK(Url(std::vector<std::string>{"a", "b"}, {}).text() == "/a/b");
    CHECK(Url::within("main").text() == "#main");
    CHECK(element("a", {{"href", Url({"x"}, {{"a", "1"}, {"b", "2"}})}}, "y").markup() ==
          "<a href=\"/x?a=1&amp;b=2\">y</a>");
}
