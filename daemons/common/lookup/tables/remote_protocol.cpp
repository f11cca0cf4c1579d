#include "daemons/common/lookup/tables/remote_protocol.h"
#include <fmt/format.h>

namespace tables {

namespace {

std::unexpected<smtp::Malformed> malformed(std::string why) { return std::unexpected(smtp::Malformed{std::move(why)}); }

// The reason given by a server, for a log.
std::string said(std::string_view word, std::string_view text) {
    return fmt::format("it answered: {}", smtp::printable(text.empty() ? word : fmt::format("{} {}", word, text), 200));
}

std::optional<unsigned> hex_digit(char c) {
    if (smtp::is_digit(c)) return static_cast<unsigned>(c - '0');
    const char small = smtp::lower(c);
    if (small >= 'a' && small <= 'f') return static_cast<unsigned>(small - 'a' + 10);
    return {};
}

std::optional<std::string> decoded(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        if (text.front() != '%') {
            out += text.front();
            text.remove_prefix(1);
            continue;
        }
        const auto high = text.size() > 2 ? hex_digit(text[1]) : std::nullopt;
        const auto low = text.size() > 2 ? hex_digit(text[2]) : std::nullopt;
        if (!high || !low) return {};
        out += static_cast<char>(*high * 16 + *low);
        text.remove_prefix(3);
    }
    return out;
}

struct Netstring {
    std::string_view content;
    std::size_t bytes; // with its frame
};

// Empty: incomplete.
std::expected<std::optional<Netstring>, smtp::Malformed> netstring(std::string_view buffer, std::size_t longest) {
    const auto colon = buffer.substr(0, 7).find(':');
    const auto digits = buffer.substr(0, std::min(colon, buffer.size()));
    if (colon == buffer.npos && buffer.size() < 7) {
        for (const char c : digits)
            if (!smtp::is_digit(c)) return malformed("its answer is not a netstring");
        return std::nullopt;
    }
    const auto length = smtp::parse_number(digits, longest);
    if (colon == buffer.npos || !length)
        return malformed(fmt::format("its answer is not a netstring of at most {} bytes", longest));
    if (buffer.size() < colon + 1 + *length + 1) return std::nullopt;
    const auto total = colon + 1 + static_cast<std::size_t>(*length) + 1;
    if (buffer[total - 1] != ',') return malformed("its answer is not a netstring: the comma at its end is missing");
    return Netstring{buffer.substr(colon + 1, static_cast<std::size_t>(*length)), total};
}

} // namespace

namespace socketmap {

std::string request(std::string_view map, std::string_view key) {
    return fmt::format("{}:{} {},", map.size() + 1 + key.size(), map, key);
}

ParseResult parse_reply(std::string_view buffer) {
    const auto string = netstring(buffer, longest_reply);
    if (!string) return std::unexpected(string.error());
    if (!*string) return std::nullopt;
    const auto [content, total] = **string;
    const auto word = content.substr(0, content.find(' '));
    const auto text = content.substr(std::min(content.size(), word.size() + 1));
    if (word == "OK") return Reply{Answer::found(std::string(text)), total};
    if (word == "NOTFOUND") return Reply{Answer{}, total};
    if (word == "TEMP" || word == "TIMEOUT" || word == "PERM")
        return Reply{Answer::unavailable(said(word, text)), total};
    return malformed(fmt::format("its answer begins with \"{}\": expected OK, NOTFOUND, TEMP, TIMEOUT or PERM",
                                 smtp::printable(word, 40)));
}

} // namespace socketmap

namespace tcp_table {

std::string request(std::string_view key) {
    std::string out = "get ";
    for (const unsigned char c : key)
        if (c > 0x20 && c < 0x7f && c != '%')
            out += static_cast<char>(c);
        else
            out += fmt::format("%{:02X}", c);
    return out + '\n';
}

ParseResult parse_reply(std::string_view buffer) {
    const auto end = buffer.find('\n');
    if (end == buffer.npos && buffer.size() <= longest_reply) return std::nullopt;
    if (end == buffer.npos || end > longest_reply)
        return malformed(fmt::format("its answer is not a line of at most {} bytes", longest_reply));
    auto line = buffer.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto code = line.substr(0, 3);
    if (line.size() < 4 || line[3] != ' ')
        return malformed(fmt::format("its answer is \"{}\": expected \"200 value\", \"400 reason\" or \"500 "
                                     "reason\"",
                                     smtp::printable(line, 100)));
    auto text = decoded(line.substr(4));
    if (!text) return malformed("its answer has a % without two hexadecimal digits after it");
    if (code == "200") return Reply{Answer::found(*std::move(text)), end + 1};
    if (code == "400") return Reply{Answer::unavailable(said(code, *text)), end + 1};
    if (code == "500") return Reply{Answer{}, end + 1};
    return malformed(fmt::format("its answer is \"{}\": expected \"200 value\", \"400 reason\" or \"500 "
                                 "reason\"",
                                 smtp::printable(line, 100)));
}

} // namespace tcp_table

namespace maps_protocol {

std::expected<std::optional<Request>, smtp::Malformed> parse_request(std::string_view buffer) {
    const auto string = netstring(buffer, longest_request);
    if (!string) return malformed("a request is a netstring");
    if (!*string) return std::nullopt;
    const auto space = (*string)->content.find(' ');
    if (space == std::string_view::npos) return malformed("a request is a table and a key");
    return Request{std::string((*string)->content.substr(0, space)), std::string((*string)->content.substr(space + 1)),
                   (*string)->bytes};
}

std::string reply(const Answer& answer, bool whole_table) {
    const auto framed = [](std::string_view word, std::string_view text) {
        return fmt::format("{}:{} {},", word.size() + 1 + text.size(), word, text);
    };
    if (answer.status == Answer::Status::none) return framed("NOTFOUND", "");
    if (answer.status == Answer::Status::unavailable)
        return framed(whole_table ? "DOWN" : "TEMP", smtp::printable(answer.why, 1000));
    if (answer.value.size() + 10 > longest_reply)
        return framed("TEMP", fmt::format("the result has more than {} bytes", longest_reply - 10));
    return framed("OK", answer.value);
}

ParseResult parse_reply(std::string_view buffer) {
    const auto string = netstring(buffer, longest_reply);
    if (!string) return std::unexpected(string.error());
    if (!*string) return std::nullopt;
    const auto [content, total] = **string;
    const auto word = content.substr(0, content.find(' '));
    const auto text = content.substr(std::min(content.size(), word.size() + 1));
    if (word == "TEMP" || word == "DOWN")
        return Reply{Answer::unavailable(std::string(text.empty() ? "unavailable" : text)), total, word == "DOWN"};
    return socketmap::parse_reply(buffer);
}

} // namespace maps_protocol

} // namespace tables
