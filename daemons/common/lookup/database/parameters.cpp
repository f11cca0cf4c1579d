#include "daemons/common/lookup/database/parameters.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace tables {

namespace {

constexpr std::string_view white = " \t\r\v\f";
constexpr std::size_t most_parameters = 200;

std::string_view without_blanks(std::string_view text) {
    const auto first = text.find_first_not_of(white);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(white) - first + 1);
}

bool is_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

std::unexpected<smtp::Malformed> wrong(std::uint32_t line, std::string_view why) {
    return std::unexpected(smtp::Malformed{fmt::format("line {}: {}", line, why)});
}

} // namespace

std::expected<std::vector<Parameter>, smtp::Malformed> read_parameters(std::string_view text) {
    std::vector<Parameter> out;
    bool begun = false; // a line that may be continued
    std::uint32_t number = 0;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        ++number;
        const auto words = without_blanks(line);
        if (std::ranges::any_of(words, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }))
            return wrong(number, "control characters are not allowed here");
        if (words.empty() || words.front() == '#') continue; // also between the parts of one parameter
        if (white.find(line.front()) != white.npos) {
            if (!begun) return wrong(number, "a line that continues another one must not be the first");
            auto& value = out.back().value;
            value += value.empty() ? "" : " ";
            value += words;
            continue;
        }
        const auto equals = words.find('=');
        const auto name = without_blanks(words.substr(0, equals));
        if (equals == words.npos || !is_name(name)) return wrong(number, "expected \"name = value\"");
        std::string lower(name);
        std::ranges::transform(lower, lower.begin(), smtp::lower);
        std::erase_if(out, [&](const Parameter& each) { return each.name == lower; });
        if (out.size() >= most_parameters) return wrong(number, "too many parameters");
        out.push_back({std::move(lower), std::string(without_blanks(words.substr(equals + 1))), number});
        begun = true;
    }
    return out;
}

} // namespace tables
