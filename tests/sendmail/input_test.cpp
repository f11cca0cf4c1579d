#include "daemons/sendmail/input.h"
#include <doctest/doctest.h>
#include <unistd.h>

using namespace sendmail;

TEST_CASE("a line of a single dot ends a message, whole, byte by byte and in sevens") {
    struct Row {
        std::string_view text, message;
        bool ended;
    };
    const Row rows[] = {
        {"a\n.\nb\n", "a\n", true},
        {"a\r\n.\r\nb\n", "a\r\n", true},
        {".\n", "", true},
        {".\r\n", "", true},
        {"a\n..\nb\n", "a\n..\nb\n", false},
        {"a\n.b\n", "a\n.b\n", false},
        {"a.\n.\n", "a.\n", true},
        {"a\n.\rb\n", "a\n.\rb\n", false},
        {"a\n.", "a\n", false},
        {"a\n\n.\n", "a\n\n", true},
        {"", "", false},
        {"no end", "no end", false},
        {"a\n.\r\r\n", "a\n.\r\r\n", false},
    };
    for (const auto& row : rows)
        for (const std::size_t step : {row.text.size() + 1, std::size_t{1}, std::size_t{7}}) {
            DotScanner scan;
            std::string message;
            for (std::size_t n = 0; n < row.text.size() && !scan.ended(); n += step)
                scan.feed(row.text.substr(n, step), message);
            CAPTURE(row.text);
            CAPTURE(step);
            CHECK(message == row.message);
            CHECK(scan.ended() == row.ended);
        }
}

TEST_CASE("reading stops at the limit") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    REQUIRE(write(ends[1], "0123456789", 10) == 10);
    close(ends[1]);
    const auto message = read_message(ends[0], DotHandling::literal, 9);
    REQUIRE_FALSE(message);
    CHECK(message.error().code == EFBIG);
    close(ends[0]);
}
