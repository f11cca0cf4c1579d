#include "libspool/journal/json_object.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

namespace spool::journal {

namespace {

constexpr std::string_view hexadecimal = "0123456789abcdef", replacement = "\xEF\xBF\xBD";

// Everything below writes to memory that is large enough, and returns where it ended: lines are made at the rate of
// mail, and a string that grows by pieces costs more than what is in it.

char* put(char* at, std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
}

template <std::size_t digits> char* put_digits(char* at, std::uint64_t value) {
    for (std::size_t n = digits; n-- > 0; value /= 10) at[n] = static_cast<char>('0' + value % 10);
    return at + digits;
}

// ,"name":
constexpr std::size_t name_overhead = 4;
char* put_name(char* at, std::string_view name) {
    if (at[-1] != '{') *at++ = ',';
    *at++ = '"';
    at = put(at, name);
    *at++ = '"';
    *at++ = ':';
    return at;
}

constexpr bool stands_for_itself(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

// All eight bytes do. Each term has the top bit of a byte set if that byte is special; a borrow from one byte to the
// next can only follow a special one.
bool stand_for_themselves(std::uint64_t bytes) {
    constexpr std::uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    const auto zero_in = [](std::uint64_t word) { return (word - ones) & ~word; };
    const auto below_space = bytes - 0x20 * ones;
    const auto quotes = zero_in(bytes ^ 0x22 * ones), backslashes = zero_in(bytes ^ 0x5C * ones);
    const auto deletes = zero_in(bytes ^ 0x7F * ones);
    return ((bytes | below_space | quotes | backslashes | deletes) & tops) == 0;
}

char* put_escaped(char* at, char c) {
    *at++ = '\\';
    switch (c) {
    case '"':
    case '\\': *at++ = c; return at;
    case '\n': *at++ = 'n'; return at;
    case '\r': *at++ = 'r'; return at;
    case '\t': *at++ = 't'; return at;
    default:
        at = put(at, "u00");
        *at++ = hexadecimal[static_cast<unsigned char>(c) >> 4];
        *at++ = hexadecimal[static_cast<unsigned char>(c) & 15];
        return at;
    }
}

// With quotation marks.
constexpr std::size_t most_for(std::string_view text) { return 6 * text.size() + 2; }
char* put_text(char* at, std::string_view text) {
    *at++ = '"';
    while (!text.empty()) {
        if (std::uint64_t word; text.size() >= sizeof word) {
            std::memcpy(&word, text.data(), sizeof word);
            if (stand_for_themselves(word)) {
                std::memcpy(at, &word, sizeof word);
                at += sizeof word;
                text.remove_prefix(sizeof word);
                continue;
            }
        }
        // Byte by byte, for the length of a word at most.
        for (std::size_t n = 0; n < sizeof(std::uint64_t) && !text.empty(); ++n) {
            std::size_t length = 1;
            if (stands_for_itself(text[0]))
                *at++ = text[0];
            else if (static_cast<unsigned char>(text[0]) < 0x80)
                at = put_escaped(at, text[0]);
            else if ((length = smtp::utf8_length(text)) > 0)
                at = put(at, text.substr(0, length));
            else
                at = put(at, replacement), length = 1;
            text.remove_prefix(length);
        }
    }
    *at++ = '"';
    return at;
}

char* put_time(char* at, smtp::WallTime time) {
    using namespace std::chrono;
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const auto of_day = static_cast<std::uint64_t>((time - day).count());
    at = put_digits<4>(at, static_cast<std::uint64_t>(static_cast<int>(date.year())));
    *at++ = '-';
    at = put_digits<2>(at, static_cast<unsigned>(date.month()));
    *at++ = '-';
    at = put_digits<2>(at, static_cast<unsigned>(date.day()));
    *at++ = 'T';
    at = put_digits<2>(at, of_day / 3'600'000'000);
    *at++ = ':';
    at = put_digits<2>(at, of_day / 60'000'000 % 60);
    *at++ = ':';
    at = put_digits<2>(at, of_day / 1'000'000 % 60);
    *at++ = '.';
    at = put_digits<6>(at, of_day % 1'000'000);
    *at++ = 'Z';
    return at;
}

// Appends what `write(where)` writes there, at most that much.
template <class Write> void grow(std::string& out, std::size_t most, Write&& write) {
    const auto before = out.size();
    out.resize_and_overwrite(
        before + most, [&](char* all, std::size_t) { return static_cast<std::size_t>(write(all + before) - all); });
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
    grow(out, time_size, [&](char* at) { return put_time(at, time); });
}

void append_text(std::string& out, std::string_view text, std::size_t most) {
    text = cut(text, most);
    grow(out, most_for(text), [&](char* at) { return put_text(at, text); });
}

void JsonObject::begin(std::string_view name) {
    grow(out_, name.size() + name_overhead, [&](char* at) { return put_name(at, name); });
}

void JsonObject::text(std::string_view name, std::string_view value, std::size_t most) {
    if (!value.empty()) text_even_if_empty(name, cut(value, most));
}

void JsonObject::text_even_if_empty(std::string_view name, std::string_view value) {
    grow(out_, name.size() + name_overhead + most_for(value),
         [&](char* at) { return put_text(put_name(at, name), value); });
}

void JsonObject::word(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    grow(out_, name.size() + name_overhead + value.size() + 2, [&](char* at) {
        at = put_name(at, name);
        *at++ = '"';
        at = put(at, value);
        *at++ = '"';
        return at;
    });
}

void JsonObject::word_without_quotes(std::string_view name, std::string_view value) {
    grow(out_, name.size() + name_overhead + value.size(), [&](char* at) { return put(put_name(at, name), value); });
}

void JsonObject::signed_number(std::string_view name, std::int64_t value) {
    constexpr std::size_t longest = 20;
    grow(out_, name.size() + name_overhead + longest, [&](char* at) {
        at = put_name(at, name);
        return std::to_chars(at, at + longest, value).ptr;
    });
}

void JsonObject::time(std::string_view name, smtp::WallTime value) {
    grow(out_, name.size() + name_overhead + time_size + 2, [&](char* at) {
        at = put_name(at, name);
        *at++ = '"';
        at = put_time(at, value);
        *at++ = '"';
        return at;
    });
}

void JsonObject::milliseconds(std::string_view name, smtp::Duration value) {
    if (value >= smtp::Duration::zero())
        signed_number(name, std::chrono::duration_cast<std::chrono::milliseconds>(value).count());
}

void JsonObject::seconds(std::string_view name, smtp::Duration value) {
    const auto all = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::milliseconds>(value).count());
    signed_number(name, all / 1000);
    if (all % 1000 == 0) return;
    grow(out_, 4, [&](char* at) {
        *at++ = '.';
        return put_digits<3>(at, static_cast<std::uint64_t>(all % 1000));
    });
}

void JsonObject::members(std::string_view encoded) {
    if (encoded.empty()) return;
    if (out_.back() != '{') out_ += ',';
    out_ += encoded;
}

} // namespace spool::journal
