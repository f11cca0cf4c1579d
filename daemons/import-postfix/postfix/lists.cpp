#include "daemons/import-postfix/postfix/lists.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace postrider::postfix {

namespace {

constexpr std::string_view blanks = " \t\r\n\f\v";

template <class T> std::optional<T> whole(std::string_view text) {
    T value{};
    const auto end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    return text.empty() || error != std::errc{} || stopped != end ? std::nullopt : std::optional(value);
}

// Where the brace that is open at `at` is closed; npos: nowhere.
std::size_t closing(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    for (; at < text.size(); ++at) {
        if (text[at] == '{') ++depth;
        if (text[at] == '}' && --depth == 0) return at;
    }
    return text.npos;
}

constexpr struct {
    std::string_view name;
    std::uint16_t port;
} ports[] = {{"smtp", 25},   {"submission", 587}, {"msa", 587}, {"submissions", 465}, {"smtps", 465},
             {"ssmtp", 465}, {"urd", 465},        {"lmtp", 24}, {"24", 24},           {"qmqp", 628}};

} // namespace

std::string_view trimmed(std::string_view text) { return smtp::trimmed(text, blanks); }

std::string excerpt(std::string_view text) {
    if (text.size() <= 60) return std::string(text);
    auto end = std::size_t{60};
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end; // not within a character
    return std::string(text.substr(0, end)) + "...";
}

std::expected<std::vector<std::string>, std::string> split(std::string_view text, std::string_view separators) {
    std::vector<std::string> out;
    for (std::size_t at = text.find_first_not_of(separators); at < text.size();
         at = text.find_first_not_of(separators, at)) {
        std::size_t end;
        if (text[at] == '{') {
            const auto close = closing(text, at);
            if (close == text.npos)
                return std::unexpected(fmt::format("\"{}\": unclosed brace", excerpt(text.substr(at))));
            end = close + 1;
            if (end < text.size() && separators.find(text[end]) == separators.npos)
                return std::unexpected(
                    fmt::format("\"{}\": no space after the closing brace", excerpt(text.substr(at))));
        } else {
            end = at; // braces within a word hold it together: inline:{a=b, c=d}
            while (end < text.size() && separators.find(text[end]) == separators.npos) {
                const auto close = text[end] == '{' ? closing(text, end) : end;
                end = close == text.npos ? text.size() : close + 1;
            }
        }
        out.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

std::vector<std::string> words_of(std::string_view text) {
    auto out = split(text, ", \t\r\n");
    return out ? *std::move(out) : std::vector<std::string>{std::string(text)};
}

std::string_view unbraced(std::string_view text) {
    text = trimmed(text);
    return text.size() > 1 && text.front() == '{' && text.back() == '}' ? trimmed(text.substr(1, text.size() - 2))
                                                                        : text;
}

std::optional<TypedName> parse_typed(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == text.npos || colon == 0 || text.front() == '[' || text.front() == '/') return {};
    TypedName out{std::string(text.substr(0, colon)), std::string(trimmed(text.substr(colon + 1)))};
    for (auto& c : out.type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

static void add_tables(std::string_view table, OfChain of_chain, int depth, std::vector<std::string>& out) {
    while (table.starts_with("proxy:")) table.remove_prefix(6);
    const auto typed = parse_typed(table);
    const bool chain = typed && typed->type == "pipemap" && of_chain != OfChain::itself;
    const bool several = chain || (typed && typed->type == "unionmap");
    const auto parts = several && depth < 10 ? split(unbraced(typed->name), ", \t\r\n") : std::vector<std::string>{};
    if (!parts || parts->empty()) {
        out.emplace_back(table);
        return;
    }
    for (std::size_t i = chain && of_chain == OfChain::last ? parts->size() - 1 : 0; i < parts->size(); ++i)
        add_tables((*parts)[i], of_chain, depth + 1, out);
}

std::vector<std::string> tables_in(std::string_view table, OfChain of_chain) {
    std::vector<std::string> out;
    add_tables(table, of_chain, 0, out);
    return out;
}

std::optional<std::uint64_t> seconds_of(std::string_view text, char unit) {
    text = trimmed(text);
    if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.back())))
        unit = static_cast<char>(std::tolower(static_cast<unsigned char>(text.back()))), text.remove_suffix(1);
    const auto count = whole<std::uint32_t>(text);
    const auto in = std::string_view("smhdw").find(unit);
    constexpr std::uint64_t seconds[] = {1, 60, 3600, 86400, 604800};
    return !count || in == std::string_view::npos ? std::nullopt : std::optional(*count * seconds[in]);
}

std::optional<std::uint64_t> number_of(std::string_view text) { return whole<std::uint64_t>(trimmed(text)); }

std::optional<bool> flag_of(std::string_view text) {
    std::string word(trimmed(text));
    for (auto& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word == "yes") return true;
    return word == "no" ? std::optional(false) : std::nullopt;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
    for (const auto& [name, port] : ports)
        if (text == name) return port;
    const auto port = whole<std::uint16_t>(text);
    return port && *port > 0 ? port : std::nullopt;
}

std::optional<std::vector<std::string>> addresses_of(std::string_view pattern) {
    constexpr std::size_t most = 256;
    std::vector<std::string> out = {""};
    for (int octet = 0; octet < 4; ++octet) {
        std::string_view part = pattern.substr(0, pattern.starts_with('[') ? pattern.find(']') : pattern.find('.'));
        pattern.remove_prefix(std::min(part.size() + (pattern.starts_with('[') ? 1 : 0), pattern.size()));
        if (octet < 3 && !pattern.starts_with('.')) return {};
        pattern.remove_prefix(octet < 3 ? 1 : 0);
        if (part.starts_with('[')) part.remove_prefix(1);
        std::vector<std::string> made;
        while (!part.empty()) { // "2..4;9"
            const auto range = part.substr(0, part.find(';'));
            part.remove_prefix(std::min(range.size() + 1, part.size()));
            const auto dots = range.find("..");
            const auto first = whole<std::uint8_t>(range.substr(0, dots)),
                       last = dots == range.npos ? first : whole<std::uint8_t>(range.substr(dots + 2));
            if (!first || !last || *first > *last) return {};
            for (int value = *first; value <= *last; ++value)
                for (const auto& before : out) made.push_back(fmt::format("{}{}{}", before, octet ? "." : "", value));
            if (made.size() > most) return {};
        }
        if (made.empty()) return {};
        out = std::move(made);
    }
    return pattern.empty() ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<Destination> destination_of(std::string_view text) {
    text = trimmed(text);
    Destination out;
    if (text.starts_with("unix:") || text.starts_with("local:") || text.starts_with('/')) {
        out.host = text.starts_with('/') ? text : text.substr(text.find(':') + 1);
        out.path = true;
        return out.host.empty() ? std::nullopt : std::optional(out);
    }
    const bool inet = text.starts_with("inet:");
    if (inet) text.remove_prefix(5);
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == text.npos) return {};
        out.host = text.substr(1, close - 1), out.brackets = true;
        text.remove_prefix(close + 1);
    } else {
        const auto colon = std::min(text.find(':'), text.size());
        out.host = text.substr(0, colon), out.brackets = inet;
        text.remove_prefix(colon);
    }
    if (out.host.starts_with("ipv6:") || out.host.starts_with("IPv6:")) out.host.erase(0, 5);
    if (out.host.empty() || (!text.empty() && text.front() != ':')) return {};
    if (text.empty()) return out;
    const auto port = port_of(text.substr(1));
    if (!port) return {};
    out.port = *port;
    return out;
}

} // namespace postrider::postfix
