#include "daemons/common/lookup/database/result_values.h"
#include "daemons/common/lookup/database/template.h"
#include <doctest/doctest.h>

using tables::ResultValues;
using tables::Template;

namespace {

std::string expanded(std::string_view text, std::string_view value, std::string_view key) {
    const auto read = Template::parse(text);
    if (!read) return "error";
    return read->expand(value, key).value_or("none");
}
std::string of_key(std::string_view text, std::string_view key) { return expanded(text, key, key); }

} // namespace

TEST_CASE("templates: placeholders of a query, as in mysql_table(5)") {
    CHECK(of_key("%s", "ann@mail.example.com") == "ann@mail.example.com");
    CHECK(of_key("%u at %d", "ann@mail.example.com") == "ann at mail.example.com");
    CHECK(of_key("%1 %2 %3", "ann@mail.example.com") == "com example mail");
    CHECK(of_key("%U %D %S", "ann@b.example") == "ann b.example ann@b.example");
    CHECK(of_key("100%% of %u", "ann") == "100% of ann"); // not an address: the whole
    CHECK(of_key("%u", "\"a@b\"@c.example") == "\"a@b\"");
    for (const auto* text : {"%d", "%1", "%D"}) CHECK(of_key(text, "ann") == "none");
    CHECK(of_key("%4", "ann@mail.example.com") == "none");
    CHECK(of_key("%u", "@example.com") == "none");
    CHECK(of_key("%d", "ann@") == "none");
    CHECK(of_key("%2", "ann@.com") == "none");
    CHECK(of_key("text", "") == "text");
}

TEST_CASE("templates: placeholders of a result are of the value, capitals and digits of the key") {
    CHECK(expanded("smtp:[%s]", "mx.example", "ann@b.example") == "smtp:[mx.example]");
    CHECK(expanded("%u+%U@%d.%D.%1", "x@y.example", "ann@b.test") == "x+ann@y.example.b.test.test");
    CHECK(expanded("%d", "unqualified", "ann@b.example") == "none");
    CHECK(expanded("%s", "", "ann@b.example") == "none");
    CHECK_FALSE(Template::parse("%s %D")->suits("ann"));
    CHECK(Template::parse("%s %d")->suits("ann"));
}

TEST_CASE("templates: what is not one") {
    for (const auto* text : {"%", "%x", "50% of", "%0", "%s%"}) CHECK_FALSE(Template::parse(text).has_value());
    CHECK(Template::parse("%x").error().why.find("\"%x\" is not a placeholder") == 0);
}

TEST_CASE("templates: quoting applies to parts, not to the text") {
    const auto filter = Template::parse("(mail=%s)");
    CHECK(filter->expand("a*b", "a*b", [](std::string_view part) { return "<" + std::string(part) + ">"; }) ==
          "(mail=<a*b>)");
}

TEST_CASE("results: values are formatted, joined and limited") {
    const auto format = *Template::parse("<%s>");
    ResultValues values(format, "key", 2);
    CHECK(values.answer() == tables::Answer{});
    CHECK(values.add(""));
    CHECK(values.add("one"));
    CHECK(values.add("two"));
    CHECK(values.answer() == tables::Answer::found("<one>,<two>"));
    CHECK_FALSE(values.add("three"));
    CHECK(values.answer().status == tables::Answer::Status::unavailable);
    CHECK(values.answer().why == "the result has more values than expansion_limit permits (2)");
    ResultValues large(format, "key", 0);
    CHECK(large.add(std::string(ResultValues::most_bytes - 3, 'x')));
    CHECK_FALSE(large.add("y"));
    CHECK(large.answer().status == tables::Answer::Status::unavailable);
}
