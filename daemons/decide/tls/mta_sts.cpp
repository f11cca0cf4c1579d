#include "daemons/decide/tls/mta_sts.h"
#include "libsmtp/text/trim.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace decide::sts {

namespace {

using std::string_view;

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// sts-ext-name, sts-policy-ext-name
bool is_name(string_view text) {
    return !text.empty() && text.size() <= 32 && (is_letter(text[0]) || is_digit(text[0])) &&
           std::ranges::all_of(text,
                               [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; });
}

// A Domain of RFC 5321, 4.1.2, of at least one label; in lower case. "": it is invalid.
std::string domain(string_view text) {
    if (text.empty() || text.size() > 253) return "";
    std::string out;
    std::size_t label = 0; // characters of it so far
    char before = '.';
    for (char c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        if (c == '.') {
            if (before == '.' || before == '-') return "";
            label = 0;
        } else if (!is_letter(c) && !is_digit(c) && (c != '-' || label == 0)) {
            return "";
        } else if (++label > 63) {
            return "";
        }
        out.push_back(before = c);
    }
    return before == '.' || before == '-' ? "" : out;
}

std::optional<std::uint32_t> age(string_view text) {
    if (text.empty() || text.size() > 10 || !std::ranges::all_of(text, is_digit)) return {};
    std::uint64_t seconds = 0;
    for (const char c : text) seconds = seconds * 10 + static_cast<std::uint64_t>(c - '0');
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(seconds, longest_age));
}

// sts-policy-ext-value: visible characters, UTF-8, blanks between them.
bool is_extension(string_view text) {
    return !text.empty() && smtp::is_utf8_text(text) &&
           std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

// What has been found of the policy so far.
struct Found {
    std::optional<Mode> mode;
    std::optional<std::uint32_t> max_age;
    bool version = false;
    std::vector<std::string> mx;
};

// What is wrong with the line.
std::optional<std::string> take(string_view key, string_view value, Found& found) {
    if (key == "version") {
        if (value != "STSv1") return "its version is not STSv1";
        found.version = true;
    } else if (key == "mode") {
        std::optional<Mode> mode;
        for (const auto each : {Mode::none, Mode::testing, Mode::enforce})
            if (value == name_of(each)) mode = each;
        if (!mode) return "its mode is not testing, enforce or none";
        if (!found.mode) found.mode = mode;
    } else if (key == "max_age") {
        const auto seconds = age(value);
        if (!seconds) return "its max_age is not a number of seconds";
        if (!found.max_age) found.max_age = seconds;
    } else if (key == "mx") {
        const bool wild = value.starts_with("*.");
        auto name = domain(wild ? value.substr(2) : value);
        if (name.empty()) return "one of its mx values is not a host name";
        if (found.mx.size() == most_patterns) return fmt::format("it has more than {} mx values", most_patterns);
        found.mx.push_back((wild ? "*." : "") + std::move(name));
    } else if (!is_name(key) || !is_extension(value)) {
        return "one of its lines is not \"key: value\"";
    }
    return std::nullopt;
}

} // namespace

string_view name_of(Mode mode) {
    return mode == Mode::enforce ? "enforce" : mode == Mode::testing ? "testing" : "none";
}

std::expected<Policy, std::string> parse_policy(string_view text) {
    const auto wrong = [](std::string what) { return std::unexpected(std::move(what)); };
    if (text.size() > largest_policy) return wrong("it is too large");
    while (text.ends_with('\n')) { // one line end more or less is not an attack
        text.remove_suffix(1);
        if (text.ends_with('\r')) text.remove_suffix(1);
    }
    Found found;
    while (!text.empty()) {
        const auto end = text.find('\n');
        auto line = text.substr(0, end);
        text.remove_prefix(end == string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        const auto colon = line.find(':');
        if (colon == string_view::npos) return wrong("one of its lines is not \"key: value\"");
        const auto value = smtp::trimmed(line.substr(colon + 1));
        if (auto what = take(line.substr(0, colon), value, found)) return wrong(*std::move(what));
    }
    if (!found.version) return wrong("it has no version");
    if (!found.mode) return wrong("it has no mode");
    if (!found.max_age) return wrong("it has no max_age");
    if (found.mx.empty() && *found.mode != Mode::none) return wrong("it has no mx value");
    return Policy{*found.mode, *found.max_age, std::move(found.mx)};
}

std::optional<std::string> parse_record(string_view text) {
    constexpr string_view version = "v=STSv1";
    if (!text.starts_with(version)) return {};
    text.remove_prefix(version.size());
    std::optional<std::string> id;
    // 1*(delimiter field) [delimiter]
    while (true) {
        text = smtp::trimmed_left(text);
        if (text.empty()) return id;
        if (text.front() != ';') return {};
        text = smtp::trimmed_left(text.substr(1));
        if (text.empty()) return id;
        const auto end = std::min(text.find(';'), text.size());
        const auto field = smtp::trimmed_right(text.substr(0, end));
        text.remove_prefix(end);
        const auto equals = field.find('=');
        if (equals == string_view::npos) return {};
        const auto name = field.substr(0, equals), value = field.substr(equals + 1);
        const bool visible = std::ranges::all_of(value, [](char c) { return c > ' ' && c < 0x7f && c != '='; });
        if (!is_name(name) || value.empty() || !visible) return {};
        if (name != "id") continue;
        const bool good =
            value.size() <= 32 && std::ranges::all_of(value, [](char c) { return is_letter(c) || is_digit(c); });
        if (!good || id) return {};
        id = value;
    }
}

std::optional<std::string> find_record(std::span<const std::string> texts) {
    // Those that begin differently are not for MTA-STS (RFC 8461, 3.1).
    const auto about_sts = [](string_view text) {
        if (!text.starts_with("v=STSv1")) return false;
        return smtp::trimmed_left(text.substr(7)).starts_with(';');
    };
    if (std::ranges::count_if(texts, about_sts) != 1) return {};
    return parse_record(*std::ranges::find_if(texts, about_sts));
}

bool admits(std::span<const std::string> patterns, string_view host) {
    const auto dot = host.find('.');
    return std::ranges::any_of(patterns, [&](string_view pattern) {
        if (!pattern.starts_with("*.")) return pattern == host;
        return dot != string_view::npos && dot > 0 && host.substr(dot) == pattern.substr(1);
    });
}

} // namespace decide::sts
