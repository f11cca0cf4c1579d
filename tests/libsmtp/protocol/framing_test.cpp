#include "libsmtp/protocol/framing.h"
#include "tests/libsmtp/text/pieces.h"
#include <doctest/doctest.h>
#include <string>

using namespace smtp;
using namespace std::string_literals;

namespace {

struct Outcome {
    std::string content, rest;
    bool end = false, bare = false, lone_dot = false;
    bool operator==(const Outcome&) const = default;
};

Outcome decode(const pieces::Pieces& input, DataDecoder::Ending ending = DataDecoder::Ending::dot) {
    DataDecoder decoder;
    decoder.reset(ending);
    Outcome out;
    for (auto piece : input) {
        while (!out.end) {
            const auto step = decoder.decode(piece);
            out.content += step.run;
            piece.remove_prefix(step.consumed);
            out.end = step.end;
            if (step.consumed == 0 && step.run.empty()) break;
        }
        out.rest += piece;
    }
    out.bare = decoder.bare_line_break();
    out.lone_dot = decoder.smuggled_dot();
    return out;
}

} // namespace

TEST_CASE("where a bare LF ends lines, it ends the message, too; a bare CR does neither") {
    struct {
        std::string_view input, content, rest;
        bool lone_dot = false;
    } const table[] = {
        {"a\n.\nQUIT\n", "a\r\n", "QUIT\n"},
        {"a\r\n.\r\nQUIT\r\n", "a\r\n", "QUIT\r\n"},
        {"a\n.\r\nQ", "a\r\n", "Q"},
        {"a\r\n.\nQ", "a\r\n", "Q"},
        {".\nQ", "", "Q"},
        {"a\n..\n.b\n.\nQ", "a\r\n.\r\nb\r\n", "Q"},
        {"a\r.\r\n\n.\nQ", "a\r\n.\r\n\r\n", "Q", true},
    };
    for (const auto& row : table)
        for (std::size_t length : {std::size_t{1} << 20, std::size_t{3}, std::size_t{1}}) {
            const auto out = decode(pieces::of(row.input, length), DataDecoder::Ending::dot_lf);
            INFO(row.input);
            CHECK(out.end);
            CHECK(out.content == row.content);
            CHECK(out.rest == row.rest);
            CHECK(out.lone_dot == row.lone_dot);
        }
}

TEST_CASE("content whose length is known: dots stay, line breaks are mended, the last line is ended") {
    struct {
        std::string_view input, content;
        bool bare = false, lone_dot = false;
    } const table[] = {
        {"", ""},
        {"a\r\n", "a\r\n"},
        {"a", "a\r\n"},
        {".", ".\r\n"},
        {"a\r\n.\r\n.b\r\n..\r\n", "a\r\n.\r\n.b\r\n..\r\n"},
        {".\r\n", ".\r\n"},
        {"a\r", "a\r\n", true},
        {"a\nb\r\n", "a\r\nb\r\n", true},
        {"a\r\n.\r", "a\r\n.\r\n", true, true},
        {"a\r\n.\n", "a\r\n.\r\n", true, true},
        {"a\n.", "a\r\n.\r\n", true, true},
        {"a\n.\r\n", "a\r\n.\r\n", true, true},
    };
    for (const auto& row : table)
        for (std::size_t length : {std::size_t{1} << 20, std::size_t{7}, std::size_t{1}}) {
            DataDecoder decoder;
            decoder.reset(DataDecoder::Ending::length);
            std::string content;
            for (auto piece : pieces::of(row.input, length))
                while (true) {
                    const auto step = decoder.decode(piece);
                    CHECK(!step.end);
                    content += step.run;
                    piece.remove_prefix(step.consumed);
                    if (step.consumed == 0 && step.run.empty()) break;
                }
            content += decoder.finish();
            INFO(row.content);
            CHECK(content == row.content);
            CHECK(decoder.bare_line_break() == row.bare);
            CHECK(decoder.smuggled_dot() == row.lone_dot);
        }
}

TEST_CASE("command lines end in CRLF and nothing else") {
    using Kind = Line::Kind;
    struct {
        std::string_view buffer;
        Kind kind;
        std::string_view text;
        std::size_t consumed;
        bool ended;
    } const table[] = {
        {"", Kind::none, "", 0, true},
        {"NOOP", Kind::none, "", 0, true},
        {"NOOP\r", Kind::none, "", 0, true},
        {"NOOP\r\nX", Kind::complete, "NOOP", 6, true},
        {"\r\n", Kind::complete, "", 2, true},
        {"NOOP\nX\r\n", Kind::bare_lf, "NOOP", 5, true},
        {"\n", Kind::bare_lf, "", 1, true},
        {"NO\rOP\r\n", Kind::bare_cr, "NO\rOP", 7, true},
        {"NOOP\r\r\n", Kind::bare_cr, "NOOP\r", 7, true},
        {"NO\rOP\n", Kind::bare_cr, "NO\rOP", 6, true},
        {"12345678\r\n", Kind::complete, "12345678", 10, true},
        {"123456789\r\n", Kind::too_long, "123456789\r", 11, true},
        {"1234567890", Kind::too_long, "1234567890", 10, false},
        {"123456789", Kind::none, "", 0, true},
    };
    for (auto& row : table) {
        const auto line = cut_line(row.buffer, 10);
        INFO(row.buffer);
        CHECK(line.kind == row.kind);
        CHECK(line.text == row.text);
        CHECK(line.consumed == row.consumed);
        CHECK(line.ended == row.ended);
    }
}

TEST_CASE("content is unstuffed and ends at CRLF.CRLF") {
    struct {
        std::string wire;
        Outcome want;
    } const table[] = {
        {".\r\n", {"", "", true}}, // the first line after 354: an empty message
        {".\r\nQUIT\r\n", {"", "QUIT\r\n", true}},
        {"a\r\n.\r\n", {"a\r\n", "", true}},
        {"a\r\n..\r\n...\r\n.b\r\n.\r\n", {"a\r\n.\r\n..\r\nb\r\n", "", true}},
        {"\r\n\r\n.\r\n", {"\r\n\r\n", "", true}},
        {"a.\r\n.\r\n.\r\n", {"a.\r\n", ".\r\n", true}},
        {"a", {"a", "", false}},
        {"a\r", {"a", "", false}},
        {"a\r\n.", {"a\r\n", "", false}},
        {"a\r\n.\r", {"a\r\n", "", false}},
        {"a\0b\r\n.\r\n"s, {"a\0b\r\n"s, "", true}},
        {std::string(5000, 'x') + "\r\n.\r\n", {std::string(5000, 'x') + "\r\n", "", true}},
    };
    for (auto& row : table)
        for (auto& way : pieces::every_way(row.wire)) CHECK(decode(way) == row.want);
}

TEST_CASE("a bare CR or LF becomes CRLF") {
    struct {
        std::string wire, content;
    } const table[] = {
        {"a\nb\r\n.\r\n", "a\r\nb\r\n"},
        {"a\rb\r\n.\r\n", "a\r\nb\r\n"},
        {"a\r\r\n.\r\n", "a\r\n\r\n"},
        {"a\n\r\n.\r\n", "a\r\n\r\n"},
        {"a\n\nb\r\n.\r\n", "a\r\n\r\nb\r\n"},
        {"a\n..\r\n.\r\n", "a\r\n..\r\n"},
        {"a\r.b\r\n.\r\n", "a\r\n.b\r\n"},
        {"\na\r\n.\r\n", "\r\na\r\n"},
        {"\r\r\r\n.\r\n", "\r\n\r\n\r\n"},
        {std::string(600, '\n') + "\r\n.\r\n",
         [] {
             std::string s;
             for (int i = 0; i < 601; ++i) s += "\r\n";
             return s;
         }()},
    };
    for (auto& row : table)
        for (auto& way : pieces::every_way(row.wire)) CHECK(decode(way) == Outcome{row.content, "", true, true, false});
}

// RELIABILITY: "Sequences that must not end a message".
TEST_CASE("no smuggling") {
    struct {
        std::string_view name;
        std::string sequence;
        bool lone_dot;
    } const table[] = {
        {"LF.LF", "\n.\n", true},
        {"LF.CRLF", "\n.\r\n", true},
        {"CRLF.LF", "\r\n.\n", true},
        {"CR.CR", "\r.\r", true},
        {"CR.CRLF", "\r.\r\n", true},
        {"CRLF.CR", "\r\n.\r", true},
        {"CR.LF", "\r.\n", true},
        {"CRLF.CRCRLF", "\r\n.\r\r\n", true},
        {"CRCRLF.CRCRLF", "\r\r\n.\r\r\n", true},
        {"CRLF NUL.CRLF", "\r\n\0.\r\n"s, false},
        {"CRLF.NUL CRLF", "\r\n.\0\r\n"s, false},
        {"CRLF.SP CRLF", "\r\n. \r\n", false},
    };
    for (auto& row : table) {
        const auto wire = "first" + row.sequence + "MAIL FROM:<evil@x>\r\nlast\r\n.\r\nQUIT\r\n";
        const auto whole = decode({wire});
        INFO(row.name);
        CHECK(whole.end);
        CHECK(whole.rest == "QUIT\r\n");
        CHECK(whole.lone_dot == row.lone_dot);
        CHECK(whole.content.ends_with("MAIL FROM:<evil@x>\r\nlast\r\n"));
        for (std::size_t i = 0; i < whole.content.size(); ++i) { // nothing bare is ever passed on
            if (whole.content[i] == '\n') CHECK((i > 0 && whole.content[i - 1] == '\r'));
            if (whole.content[i] == '\r') CHECK((i + 1 < whole.content.size() && whole.content[i + 1] == '\n'));
        }
        for (auto& way : pieces::every_way(wire)) CHECK(decode(way) == whole);
    }
}

TEST_CASE("ordinary content goes through in one view") {
    std::string wire;
    for (int i = 0; i < 1000; ++i) wire += "An ordinary line of an ordinary message, such as there are many.\r\n";
    DataDecoder decoder;
    const auto step = decoder.decode(wire + ".\r\n");
    CHECK(step.run.size() == wire.size());
    CHECK(step.consumed == wire.size() + 1);
}

// All strings over {a . CR LF} up to nine long against a decoder that is obviously right.
TEST_CASE("every short content, against a reference") {
    const auto reference = [](std::string_view wire) {
        Outcome out;
        bool crlf_before = true; // the line now read
        std::string line;
        for (std::size_t i = 0; i < wire.size();) {
            const bool crlf = wire.substr(i, 2) == "\r\n";
            if (!crlf && wire[i] != '\r' && wire[i] != '\n') {
                line += wire[i++];
                continue;
            }
            if (wire[i] == '\r' && i + 1 == wire.size()) break; // not known yet
            i += crlf ? 2 : 1;
            if (!crlf) out.bare = true;
            if (line == "." && crlf_before && crlf) {
                out.end = true;
                out.rest = wire.substr(i);
                return std::pair(out, std::string());
            }
            if (line == ".")
                out.lone_dot = true;
            else if (line.starts_with('.') && crlf_before)
                line.erase(0, 1);
            out.content += line + "\r\n";
            line.clear();
            crlf_before = crlf;
        }
        return std::pair(out, line);
    };
    constexpr std::string_view alphabet = "a.\r\n";
    for (int length = 0; length <= 8; ++length) {
        std::string wire(static_cast<std::size_t>(length), 'a');
        for (std::size_t n = 0; n < (std::size_t{1} << (2 * length)); ++n) {
            for (int i = 0; i < length; ++i) wire[static_cast<std::size_t>(i)] = alphabet[(n >> (2 * i)) & 3];
            const auto terminated = wire + "\r\nz\r\n.\r\n"; // so that nothing is left undecided
            const auto [want, left] = reference(terminated);
            REQUIRE(left.empty());
            const auto whole = decode({terminated});
            if (!(whole == want) || !(decode(pieces::of(terminated, 1)) == want))
                FAIL_CHECK("differs: " << n << " of " << length);
        }
    }
}
