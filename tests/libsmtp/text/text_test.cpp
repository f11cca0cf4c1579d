#include "libsmtp/text/text.h"
#include <doctest/doctest.h>

using namespace smtp;

TEST_CASE("numbers from outside are digits, bounded, and in range") {
    CHECK(parse_number("0") == 0);
    CHECK(parse_number("18446744073709551615") == 18446744073709551615u);
    for (auto odd : {"", "-1", "+1", " 1", "1 ", "1x", "0x10", "18446744073709551616", "000000000000000000001"})
        CHECK_MESSAGE(!parse_number(odd), odd);
    CHECK(!parse_number("256", 255));
}

TEST_CASE("foreign text is made printable and bounded") {
    CHECK(printable("plain text") == "plain text");
    CHECK(printable(std::string_view("a\0b\r\n\x1b\x7f\xc3\xa9", 9)) == "a?b??????"); // one '?' per byte
    CHECK(printable("0123456789", 8) == "01234...");
    CHECK(printable("01234567", 8) == "01234567");
    CHECK(printable("0123", 2) == "01"); // no room for dots: never more than asked for
}

TEST_CASE("case is ASCII's") {
    CHECK(same_ignoring_case("MaIl", "mAiL"));
    CHECK_FALSE(same_ignoring_case("mail", "mai"));
    CHECK_FALSE(same_ignoring_case("\xc3\x84", "\xc3\xa4"));
    CHECK(starts_with_ignoring_case("from:<a>", "FROM:"));
    CHECK_FALSE(starts_with_ignoring_case("fro", "FROM:"));
    CHECK(lowered("A-Z[") == "a-z[");
}
