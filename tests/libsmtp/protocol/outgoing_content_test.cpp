// Content for DATA: a table, in one chunk and in every cut; and nothing bare ever leaves.
#include "libsmtp/protocol/outgoing_content.h"
#include <doctest/doctest.h>
#include <string>

using namespace smtp;

namespace {

std::string sent(const std::vector<std::string_view>& views) {
    std::string out;
    for (auto v : views) out += v;
    return out;
}

std::string encode(std::string_view content, std::size_t step, std::uint64_t longest = UINT64_MAX) {
    OutgoingContent codec(longest);
    std::vector<std::string_view> views;
    for (; !content.empty(); content.remove_prefix(std::min(step, content.size())))
        codec.encode(content.substr(0, step), views);
    codec.finish(views);
    return sent(views);
}

} // namespace

TEST_CASE("dots, line ends and the end of the message") {
    const struct {
        std::string_view content, wire;
    } table[] = {
        {"", ".\r\n"},
        {"a\r\n", "a\r\n.\r\n"},
        {"a", "a\r\n.\r\n"},
        {".", "..\r\n.\r\n"},
        {".\r\n", "..\r\n.\r\n"},
        {"a\r\n.\r\nb\r\n", "a\r\n..\r\nb\r\n.\r\n"},
        {"a.\r\n..b.\r\n", "a.\r\n...b.\r\n.\r\n"},
        {"a\r", "a\r\n.\r\n"},
        {"a\n", "a\r\n.\r\n"},
        {"\n", "\r\n.\r\n"},
        {"\n.\n", "\r\n..\r\n.\r\n"},
        {"a\n.\r\nb", "a\r\n..\r\nb\r\n.\r\n"},
        {"a\r.\r\nb", "a\r\n..\r\nb\r\n.\r\n"},
        {"a\r\r\n.\r\r\n", "a\r\n\r\n..\r\n\r\n.\r\n"},
        {"a\r\n.\r", "a\r\n..\r\n.\r\n"},
        {"0123456789012345678901234567890123\r\n.x and a line that is longer than sixteen\r\n",
         "0123456789012345678901234567890123\r\n..x and a line that is longer than sixteen\r\n.\r\n"},
    };
    for (const auto& row : table)
        for (std::size_t step = 1; step <= row.content.size() + 1; ++step)
            for (std::uint64_t longest : {UINT64_MAX, std::uint64_t{10}})
                CHECK(encode(row.content, step, longest) == row.wire);
}

TEST_CASE("long lines are wrapped where they must be, and only there") {
    const std::string fits(998, 'x'), over(2500, 'y');
    for (std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{998}, std::size_t{1} << 20}) {
        CHECK(encode(fits + "\r\nz", step) == fits + "\r\nz\r\n.\r\n");
        CHECK(encode(over + "\r\n", step) ==
              std::string(998, 'y') + "\r\n " + std::string(997, 'y') + "\r\n " + std::string(505, 'y') + "\r\n.\r\n");
        CHECK(encode(std::string(998, 'y') + ".\r\n", step) == std::string(998, 'y') + "\r\n .\r\n.\r\n");
    }
}

TEST_CASE("a chunk without anything odd leaves as one view of itself") {
    const std::string content = "Subject: x\r\n\r\n" + std::string(70, 'a') + "\r\nb. .c\r\n";
    OutgoingContent codec(70);
    std::vector<std::string_view> views;
    codec.encode(content, views);
    REQUIRE(views.size() == 1);
    CHECK(views[0].data() == content.data());
    CHECK(views[0].size() == content.size());
}

// All short strings over the bytes that matter, in every cut: the same wire; nothing bare; one end.
TEST_CASE("no cut and no mix of CR, LF and dot makes an end or a bare byte") {
    constexpr std::string_view alphabet = "\r\n.a";
    for (std::size_t length = 0; length <= 6; ++length) {
        for (std::size_t number = 0; number < (std::size_t{1} << (2 * length)); ++number) {
            std::string content;
            for (std::size_t i = 0; i < length; ++i) content += alphabet[(number >> (2 * i)) & 3];
            const auto wire = encode(content, 100);
            bool same = true, bare = false;
            for (std::size_t step = 1; step <= 3; ++step) same = same && encode(content, step, 5) == wire;
            for (std::size_t i = 0; i < wire.size(); ++i)
                bare = bare || (wire[i] == '\n' && (i == 0 || wire[i - 1] != '\r')) ||
                       (wire[i] == '\r' && (i + 1 == wire.size() || wire[i + 1] != '\n'));
            const auto end = ("\r\n" + wire).find("\r\n.\r\n");
            if (!same || bare || end + 3 != wire.size()) {
                CAPTURE(content);
                CAPTURE(wire);
                CHECK(false);
            }
        }
    }
}
