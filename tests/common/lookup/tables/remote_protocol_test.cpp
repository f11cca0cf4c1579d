#include "daemons/common/lookup/tables/remote_protocol.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace tables;

namespace {

// "value", "-" none, "~" unavailable, "…" more to come, "!" makes no sense; and the bytes taken.
std::string heard(ParseResult (*parse_reply)(std::string_view), std::string_view bytes) {
    const auto reply = parse_reply(bytes);
    if (!reply) return "!" + reply.error().why;
    if (!*reply) return "...";
    const auto& [answer, taken, whole_table] = **reply;
    using Status = Answer::Status;
    return fmt::format("{}{} {}", whole_table ? "all" : "",
                       answer.status == Status::found  ? answer.value
                       : answer.status == Status::none ? "-"
                                                       : "~" + answer.why,
                       taken);
}

void check(ParseResult (*parse_reply)(std::string_view), std::string_view bytes, std::string_view expected) {
    CAPTURE(bytes);
    CHECK(heard(parse_reply, bytes) == expected);
    if (!expected.starts_with('!') && expected != "...") // byte by byte: nothing before the end
        for (std::size_t n = 0; n + 1 < bytes.size(); ++n) CHECK(heard(parse_reply, bytes.substr(0, n)) == "...");
}

} // namespace

TEST_CASE("the protocol of maps: socket maps, and a table that is unavailable as a whole") {
    const auto parse_reply = maps_protocol::parse_reply;
    check(parse_reply, maps_protocol::reply(Answer::found("abc"), false), "abc 9");
    check(parse_reply, maps_protocol::reply({}, false), "- 12");
    check(parse_reply, maps_protocol::reply(Answer::unavailable("busy"), false), "~busy 12");
    check(parse_reply, maps_protocol::reply(Answer::unavailable("down"), true), "all~down 12");
    const auto large = maps_protocol::reply(Answer::found(std::string(longest_reply, 'x')), false);
    CHECK(heard(parse_reply, large).starts_with("~the result has more than"));
    const auto request = maps_protocol::parse_request(socketmap::request("mysql:/x", "a b"));
    REQUIRE((request && *request));
    CHECK((*request)->table == "mysql:/x");
    CHECK((*request)->key == "a b");
    CHECK((*request)->bytes == 16);
    CHECK_FALSE(*maps_protocol::parse_request("12:mysql"));
    CHECK_FALSE(maps_protocol::parse_request("3:abc,"));
    CHECK_FALSE(maps_protocol::parse_request("99999:"));
}

TEST_CASE("the protocol of socket maps") {
    CHECK(socketmap::request("virtual", "bob@example.com") == "23:virtual bob@example.com,");
    const auto parse_reply = socketmap::parse_reply;
    check(parse_reply, "6:OK abc,", "abc 9");
    check(parse_reply, "3:OK ,", " 6");
    check(parse_reply, "9:NOTFOUND ,", "- 12");
    check(parse_reply, "8:NOTFOUND,", "- 11");
    check(parse_reply, "9:TEMP busy,", "~it answered: TEMP busy 12");
    check(parse_reply, "13:PERM no table,", "~it answered: PERM no table 17");
    check(parse_reply, "", "...");
    check(parse_reply, "99999:OK", "...");
    check(parse_reply, "6:OK abc;", "!its answer is not a netstring: the comma at its end is missing");
    check(parse_reply, "2:no,", "!its answer begins with \"no\": expected OK, NOTFOUND, TEMP, TIMEOUT or PERM");
    check(parse_reply, "100001:", "!its answer is not a netstring of at most 100000 bytes");
    check(parse_reply, "12345678", "!its answer is not a netstring of at most 100000 bytes");
    check(parse_reply, "-1:,", "!its answer is not a netstring of at most 100000 bytes");
    check(parse_reply, ":,", "!its answer is not a netstring of at most 100000 bytes");
    check(parse_reply, "OK", "!its answer is not a netstring");
    CHECK(heard(parse_reply, "4:OK a,4:OK b,") == "a 7");
}

TEST_CASE("the protocol of tcp tables") {
    CHECK(tcp_table::request("bob@example.com") == "get bob@example.com\n");
    CHECK(tcp_table::request("a b%\xc3\xb6") == "get a%20b%25%C3%B6\n");
    const auto parse_reply = tcp_table::parse_reply;
    check(parse_reply, "200 abc\n", "abc 8");
    check(parse_reply, "200 a%20b%0a\n", "a b\n 13");
    check(parse_reply, "500 no such key\n", "- 16");
    check(parse_reply, "400 later%20\n", "~it answered: 400 later  13");
    check(parse_reply, "200 abc\r\n", "abc 9");
    check(parse_reply, "200 %4\n", "!its answer has a % without two hexadecimal digits after it");
    check(parse_reply, "200 %zz\n", "!its answer has a % without two hexadecimal digits after it");
    check(parse_reply, "250 ok\n",
          "!its answer is \"250 ok\": expected \"200 value\", \"400 reason\" or "
          "\"500 reason\"");
    check(parse_reply, "\n", "!its answer is \"\": expected \"200 value\", \"400 reason\" or \"500 reason\"");
    CHECK(heard(parse_reply, std::string(100'000, 'x')) == "...");
    CHECK(heard(parse_reply, std::string(100'001, 'x')) == "!its answer is not a line of at most 100000 bytes");
}
