#include "libspool/journal/json_object.h"
#include "libsmtp/text/utf8.h"
#include <charconv>
#include <chrono>

namespace spool::journal {

namespace {

constexpr std::string_view hexadecimal = "0123456789abcdef", replacement = "\xEF\xBF\xBD";

constexpr bool stands_for_itself(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

void append_digits(std::string& out, std::uint64_t value, std::size_t digits) {
    const auto at = out.size();
    out.resize(at + digits);
    for (std::size_t n = digits; n-- > 0; value /= 10) out[at + n] = static_cast<char>('0' + value % 10);
}

void append_escaped(std::string& out, char c) {
    out += '\\';
    switch (c) {
    case '"':
    case '\\': out += c; return;
    case '\n': out += 'n'; return;
    case '\r': out += 'r'; return;
    case '\t': out += 't'; return;
    default:
        out += "u00";
        out += hexadecimal[static_cast<unsigned char>(c) >> 4];
        out += hexadecimal[static_cast<unsigned char>(c) & 15];
    }
}

// A long text without the start of a character that does not fit.
std::string_view cut(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    auto end = most;
    while (end > 0 && most - end < 3 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end);
}

} // namespace

void append_time(std::string& out, smtp::WallTime time) {
    using namespace std::chrono;
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const auto of_day = static_cast<std::uint64_t>((time - day).count());
    append_digits(out, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
    out += '-';
    append_digits(out, static_cast<unsigned>(date.month()), 2);
    out += '-';
    append_digits(out, static_cast<unsigned>(date.day()), 2);
    out += 'T';
    append_digits(out, of_day / 3'600'000'000, 2);
    out += ':';
    append_digits(out, of_day / 60'000'000 % 60, 2);
    out += ':';
    append_digits(out, of_day / 1'000'000 % 60, 2);
    out += '.';
    append_digits(out, of_day % 1'000'000, 6);
    out += 'Z';
}

void append_text(std::string& out, std::string_view text, std::size_t most) {
    text = cut(text, most);
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        auto plain = at;
        while (plain < text.size() && stands_for_itself(text[plain])) ++plain;
        out += text.substr(at, plain - at);
        at = plain;
        if (at == text.size()) break;
        if (static_cast<unsigned char>(text[at]) < 0x80) {
            append_escaped(out, text[at++]);
        } else if (const auto length = smtp::utf8_length(text.substr(at)); length > 0) {
            out += text.substr(at, length);
            at += length;
        } else {
            out += replacement;
            ++at;
        }
    }
    out += '"';
}

void JsonObject::word(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    begin(name);
    out_ += '"';
    out_ += value;
    out_ += '"';
}

void JsonObject::word_without_quotes(std::string_view name, std::string_view value) {
    begin(name);
    out_ += value;
}

void JsonObject::append(std::int64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out_.append(digits, end);
}

void JsonObject::time(std::string_view name, smtp::WallTime value) {
    begin(name);
    out_ += '"';
    append_time(out_, value);
    out_ += '"';
}

void JsonObject::milliseconds(std::string_view name, smtp::Duration value) {
    if (value < smtp::Duration::zero()) return;
    begin(name);
    append(std::chrono::duration_cast<std::chrono::milliseconds>(value).count());
}

void JsonObject::seconds(std::string_view name, smtp::Duration value) {
    const auto all = std::chrono::duration_cast<std::chrono::milliseconds>(value).count();
    if (all <= 0) return;
    begin(name);
    append(all / 1000);
    if (all % 1000 == 0) return;
    out_ += '.';
    append_digits(out_, static_cast<std::uint64_t>(all % 1000), 3);
}

void JsonObject::members(std::string_view encoded) {
    if (encoded.empty()) return;
    if (out_.back() != '{') out_ += ',';
    out_ += encoded;
}

} // namespace spool::journal
