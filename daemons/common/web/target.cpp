#include "daemons/common/web/target.h"
#include <algorithm>
#include <optional>

namespace web {

namespace {

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
    return {};
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

enum class Plus : bool { literal, space };

// Nothing: an escape is not valid, or stands for a control character.
std::optional<std::string> decoded(std::string_view text, Plus plus) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '+' && plus == Plus::space) {
            c = ' ';
        } else if (c == '%') {
            if (text.size() - i < 3) return {};
            const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
            if (!high || !low) return {};
            c = static_cast<char>(*high << 4 | *low);
            if (is_control(c)) return {};
            i += 2;
        }
        out.push_back(c);
    }
    return out;
}

bool has_unescaped(std::string_view text) {
    return std::ranges::any_of(text, [](char c) {
        return is_control(c) || c == ' ' || c == '#' || c == '\\' || static_cast<unsigned char>(c) >= 0x80;
    });
}

std::unexpected<std::string> wrong(std::string_view why) { return std::unexpected(std::string(why)); }

} // namespace

std::expected<Target, std::string> parse_target(std::string_view text) {
    if (text.size() > longest_target) return wrong("the target of the request is too long");
    if (!text.starts_with('/')) return wrong("expected a path that begins with /");
    if (has_unescaped(text)) return wrong("the target of the request has a character that must be escaped");
    Target target;
    const auto question = text.find('?');
    target.path = text.substr(0, question);
    for (std::string_view rest = std::string_view(target.path).substr(1);
         !target.path.ends_with("/") || !rest.empty();) {
        const auto slash = rest.find('/');
        auto segment = decoded(rest.substr(0, slash), Plus::literal);
        if (!segment) return wrong("the path has an escape that is not valid");
        if (segment->empty() || *segment == "." || *segment == "..")
            return wrong("the path has an empty segment, or one of \".\" and \"..\"");
        target.segments.push_back(*std::move(segment));
        if (slash == rest.npos) break;
        rest.remove_prefix(slash + 1);
        if (rest.empty()) return wrong("the path ends with /");
    }
    auto parameters = parse_query(question == text.npos ? std::string_view() : text.substr(question + 1));
    if (!parameters) return std::unexpected(std::move(parameters.error()));
    target.parameters = *std::move(parameters);
    return target;
}

std::expected<Fields, std::string> parse_query(std::string_view text) {
    if (text.size() > longest_target) return wrong("the query is too long");
    if (has_unescaped(text)) return wrong("the query has a character that must be escaped");
    Fields fields;
    for (std::string_view rest = text; !rest.empty();) {
        const auto end = std::min(rest.find('&'), rest.size());
        const auto pair = rest.substr(0, end);
        const auto equals = std::min(pair.find('='), pair.size());
        auto name = decoded(pair.substr(0, equals), Plus::space);
        auto value = decoded(equals < pair.size() ? pair.substr(equals + 1) : std::string_view(), Plus::space);
        if (!name || !value) return wrong("the query has an escape that is not valid");
        if (fields.size() == most_parameters) return wrong("the query has too many parameters");
        fields.emplace_back(*std::move(name), *std::move(value));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return fields;
}

} // namespace web
