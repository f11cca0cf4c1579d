// Replies from a stream: a table, read whole, in sevens and byte by byte; and the bounds.
#include "libsmtp/protocol/reply_parser.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace smtp;

namespace {

std::string read(std::string_view wire, std::size_t step, std::size_t keep = ReplyParser::kept) {
    ReplyParser parser;
    std::string out;
    for (; !wire.empty(); wire.remove_prefix(std::min(step, wire.size()))) {
        auto input = wire.substr(0, step);
        while (!input.empty()) {
            auto result = parser.next(input, keep);
            if (auto* reply = std::get_if<Reply>(&result))
                out += fmt::format("{}|{}|{}\n", reply->code, reply->status.text(), reply->text);
            else if (auto* malformed = std::get_if<Malformed>(&result))
                return out + malformed->why;
        }
    }
    return out + (parser.idle() ? "" : "...");
}

} // namespace

TEST_CASE("replies, whole, in sevens and byte by byte") {
    using namespace std::string_view_literals;
    const struct {
        std::string_view wire, replies;
    } table[] = {
        {"250 Ok\r\n", "250||Ok\n"},
        {"250\r\n", "250||\n"},
        {"250 \r\n", "250||\n"},
        {"250 2.1.5 Ok\r\n", "250|2.1.5|Ok\n"},
        {"250 2.1.5\r\n", "250|2.1.5|\n"},
        {"250 5.1.5 Ok\r\n", "250||5.1.5 Ok\n"}, // of another class: text
        {"550-5.1.1 No\r\n550 5.1.1 user\r\n", "550|5.1.1|No\nuser\n"},
        {"250-\r\n250 x\r\n354 Go\r\n", "250||\nx\n354||Go\n"},
        {"250 a\tb\xff\r\n", "250||a?b?\n"},
        {"250 Ok", "..."},
        {"250-Ok\r\n", "..."},
        {"250 Ok\n", "reply line ends in a bare LF: 250 Ok?"},
        {"250 O\rk\r\n", "not a reply: 250 O?k"},
        {"250 \0\r\n"sv, "not a reply: 250 ?"},
        {"HTTP/1.1 400 Bad\r\n", "not a reply: HTTP/1.1 400 Bad"},
        {"150 x\r\n", "not a reply: 150 x"},
        {"600 x\r\n", "not a reply: 600 x"},
        {"25\r\n", "not a reply: 25"},
        {"250x\r\n", "not a reply: 250x"},
        {"\r\n", "not a reply: "},
        {"250-a\r\n251 b\r\n", "one reply with two codes: 251 b"},
    };
    for (const auto& row : table)
        for (std::size_t step : {row.wire.size(), std::size_t{7}, std::size_t{1}})
            CHECK(read(row.wire, step) == row.replies);
}

TEST_CASE("replies are bounded") {
    for (std::size_t step : {std::size_t{1} << 20, std::size_t{7}}) {
        CHECK(read("250 " + std::string(8188, 'x') + "\r\n", step).size() == 5 + 512 + 1);
        CHECK(read("250 " + std::string(8191, 'x') + "\r\n", step) == "reply line too long");
        CHECK(read("250 " + std::string(65536, 'x'), step) == "reply line too long");
        std::string many;
        for (int i = 0; i < 99; ++i) many += "250-0123456789\r\n";
        const auto kept = read(many + "250 x\r\n", step);
        CHECK(kept.size() <= 5 + 512 + 1);
        CHECK(read(many + "250 x\r\n", step, 16384).size() == 5 + 99 * 11 + 1 + 1);
        CHECK(read(many + "250-x\r\n250 x\r\n", step) == "reply with too many lines");
    }
}
