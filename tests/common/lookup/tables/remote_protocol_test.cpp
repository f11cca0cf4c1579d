#include "daemons/common/lookup/tables/remote_protocol.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace tables;

namespace {

// "value", "-" none, "~" unavailable, "…" more to come, "!" makes no sense; and the bytes taken.
std::string heard(Heard (*hear)(std::string_view), std::string_view bytes) {
    const auto reply = hear(bytes);
    if (!reply) return "!" + reply.error().why;
    if (!*reply) return "...";
    const auto& [answer, taken] = **reply;
    using Said = Answer::Said;
    return fmt::format("{} {}", answer.said == Said::found ? answer.value : answer.said == Said::none ? "-" : "~" + answer.why,
                       taken);
}

void check(Heard (*hear)(std::string_view), std::string_view bytes, std::string_view expected) {
    CAPTURE(bytes);
    CHECK(heard(hear, bytes) == expected);
    if (!expected.starts_with('!') && expected != "...") // byte by byte: nothing before the end
        for (std::size_t n = 0; n + 1 < bytes.size(); ++n) CHECK(heard(hear, bytes.substr(0, n)) == "...");
}

} // namespace

TEST_CASE("the protocol of socket maps") {
    CHECK(socketmap::question("virtual", "bob@example.com") == "23:virtual bob@example.com,");
    const auto hear = socketmap::hear;
    check(hear, "6:OK abc,", "abc 9");
    check(hear, "3:OK ,", " 6");
    check(hear, "9:NOTFOUND ,", "- 12");
    check(hear, "8:NOTFOUND,", "- 11");
    check(hear, "9:TEMP busy,", "~it says: TEMP busy 12");
    check(hear, "13:PERM no table,", "~it says: PERM no table 17");
    check(hear, "", "...");
    check(hear, "99999:OK", "...");
    check(hear, "6:OK abc;", "!its answer is no netstring: there is no comma at its end");
    check(hear, "2:no,", "!its answer begins with \"no\", which is none of OK, NOTFOUND, TEMP, TIMEOUT, PERM");
    check(hear, "100001:", "!its answer is no netstring of at most 100000 bytes");
    check(hear, "12345678", "!its answer is no netstring of at most 100000 bytes");
    check(hear, "-1:,", "!its answer is no netstring of at most 100000 bytes");
    check(hear, ":,", "!its answer is no netstring of at most 100000 bytes");
    check(hear, "OK", "!its answer is no netstring");
    CHECK(heard(hear, "4:OK a,4:OK b,") == "a 7");
}

TEST_CASE("the protocol of tcp tables") {
    CHECK(tcp_table::question("bob@example.com") == "get bob@example.com\n");
    CHECK(tcp_table::question("a b%\xc3\xb6") == "get a%20b%25%C3%B6\n");
    const auto hear = tcp_table::hear;
    check(hear, "200 abc\n", "abc 8");
    check(hear, "200 a%20b%0a\n", "a b\n 13");
    check(hear, "500 no such key\n", "- 16");
    check(hear, "400 later%20\n", "~it says: 400 later  13");
    check(hear, "200 abc\r\n", "abc 9");
    check(hear, "200 %4\n", "!its answer has a % without two hexadecimal digits behind it");
    check(hear, "200 %zz\n", "!its answer has a % without two hexadecimal digits behind it");
    check(hear, "250 ok\n", "!its answer \"250 ok\" is none of \"200 value\", \"400 reason\", \"500 reason\"");
    check(hear, "\n", "!its answer \"\" is none of \"200 value\", \"400 reason\", \"500 reason\"");
    CHECK(heard(hear, std::string(100'000, 'x')) == "...");
    CHECK(heard(hear, std::string(100'001, 'x')) == "!its answer is no line of at most 100000 bytes");
}
