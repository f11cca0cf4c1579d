#include "daemons/http/lists/cursor.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace http;

TEST_CASE("a cursor comes back as it was, and is safe in an address") {
    const std::vector<std::string> place = {"gone@remote.example", "", "a/b+c?d&e=f", "\xC3\xA4 \"quoted\""};
    const auto cursor = cursor_of(place);
    CHECK(std::ranges::all_of(cursor, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; }));
    CHECK(read_cursor(cursor, 4) == place);
    CHECK_FALSE(read_cursor(cursor, 3));
}

TEST_CASE("what is not a cursor is found out") {
    for (const auto* text : {"", "x", "!!!!", "e30", "W10", "bnVsbA", "WzEsMl0", "====", "eyJyZWNpcGllbnQiOjF9"})
        CHECK_FALSE(read_cursor(text, 1));
    CHECK_FALSE(read_cursor(cursor_of({std::string(longest_cursor, 'x')}), 1));
    CHECK_FALSE(read_cursor("W1tbW1tbW1tbW1tbW1tbW1tb", 1)); // [[[[…
}
