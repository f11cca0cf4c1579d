#include "libsmtp/text/trim.h"
#include <doctest/doctest.h>

using namespace smtp;

TEST_CASE("blanks around a text are left out, those within it stay") {
    CHECK(trimmed(" \ta b\t ") == "a b");
    CHECK(trimmed_left(" a ") == "a ");
    CHECK(trimmed_right(" a ") == " a");
    for (const auto* nothing : {"", " ", " \t \t"}) {
        CHECK(trimmed(nothing).empty());
        CHECK(trimmed_left(nothing).empty());
        CHECK(trimmed_right(nothing).empty());
    }
}

TEST_CASE("blanks are what the caller takes for blanks") {
    CHECK(trimmed("a \r") == "a \r");
    CHECK(trimmed("\na \r", " \r\n") == "a");
}
