#include "libsmtp/text/utf8.h"
#include <doctest/doctest.h>
#include <string>

using namespace smtp;

TEST_CASE("well-formed characters, and what only looks like one") {
    for (std::string_view one : {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                 "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        CHECK(utf8_length(one) == one.size());
    for (std::string_view none : {"", "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2",
                                  "\xc2"
                                  "a",
                                  "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
                                  "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x93", "\xff"})
        CHECK(utf8_length(none) == 0);
}

TEST_CASE("the mark before a text") {
    CHECK(without_byte_order_mark("\xEF\xBB\xBF"
                                  "a") == "a");
    CHECK(without_byte_order_mark("\xEF\xBB\xBF\xEF\xBB\xBF") == "\xEF\xBB\xBF");
    for (std::string_view text : {"", "a", "\xEF\xBB", "a\xEF\xBB\xBF"}) CHECK(without_byte_order_mark(text) == text);
}

TEST_CASE("text") {
    CHECK(is_utf8_text(""));
    CHECK(is_utf8_text("gr\xc3\xbc\xc3\x9f \xf0\x9f\x93\xa7"));
    CHECK_FALSE(is_utf8_text("gr\xfc\xdf"));
    CHECK_FALSE(is_utf8_text("a\xc2\x9b")); // a control sequence begins so on some terminals
    CHECK(is_utf8_text("\xc2\xa0"));
    CHECK(is_ascii("abc\x7f"));
    CHECK_FALSE(is_ascii("\xc3\xa4"));
}
