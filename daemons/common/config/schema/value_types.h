// Types of values of keys: how each is read from a text and
// printed again. Used to write the tables of keys.
#pragma once
#include "daemons/common/config/schema/key.h"
#include "daemons/common/net/network.h"
#include "daemons/common/net/service_address.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace config {

inline constexpr std::uint64_t GiB = 1024 * MiB;

TextKey any_text(std::string& value);
// A name that must not be empty: users, groups, the log's name.
TextKey non_empty_text(std::string& value);
TextKey domain(std::string& value);

TextKey service_address(common::ServiceAddress& value);

// "10m", or "never": Settings::never.
TextKey duration_or_never(Duration& value, Duration min, Duration max);

template <class E> struct EnumValue {
    std::string_view name;
    E value;
};

template <class E, std::size_t N> TextKey one_of(E& value, const EnumValue<E> (&words)[N]) {
    return {[&value, &words](std::string_view text) -> Refusal {
                std::string known;
                for (const auto& word : words) {
                    if (word.name == text) {
                        value = word.value;
                        return std::nullopt;
                    }
                    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", word.name);
                }
                return fmt::format("\"{}\" is not a valid value: expected one of {}", text, known);
            },
            [&value, &words]() -> std::string {
                for (const auto& word : words)
                    if (word.value == value) return std::string(word.name);
                return "";
            }};
}

// A set of bits: each word is one of them, and none is listed twice.
template <class E, std::size_t N> ListKey flags_of(E& value, const EnumValue<E> (&words)[N]) {
    return {[&value] { value = {}; },
            [&value, &words](std::string_view text) -> Refusal {
                std::string known;
                for (const auto& word : words) {
                    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", word.name);
                    if (word.name != text) continue;
                    if (any_of(value, word.value)) return fmt::format("\"{}\" is listed twice", text);
                    value = value | word.value;
                    return std::nullopt;
                }
                return fmt::format("\"{}\" is not a valid value: expected one of {}", text, known);
            },
            [&value, &words] {
                std::vector<std::string> shown;
                for (const auto& word : words)
                    if (any_of(value, word.value)) shown.emplace_back(word.name);
                return shown;
            }};
}

template <class T> ListKey list_of(std::vector<T>& values, std::function<Refusal(std::string_view, T&)> read) {
    return {[&] { values.clear(); },
            [&values, read](std::string_view text) -> Refusal {
                T value;
                if (auto refusal = read(text, value)) return refusal;
                if (std::find(values.begin(), values.end(), value) != values.end())
                    return fmt::format("\"{}\" is listed twice", text);
                values.push_back(std::move(value));
                return std::nullopt;
            },
            [&values] {
                std::vector<std::string> shown;
                for (const T& value : values) {
                    if constexpr (std::is_same_v<T, std::string>)
                        shown.push_back(value);
                    else
                        shown.push_back(value.to_string());
                }
                return shown;
            }};
}

// Each of them one of these words.
ListKey one_of_list(std::vector<std::string>& values, std::span<const std::string_view> words);
ListKey networks(std::vector<common::Network>& values);
ListKey endpoints(std::vector<common::Endpoint>& values, std::uint16_t default_port);
ListKey domains(std::vector<std::string>& values);
ListKey domain_set(std::set<std::string, std::less<>>& values);
ListKey non_empty_texts(std::vector<std::string>& values);
ListKey paths(std::vector<std::string>& values);
// Lookup tables, by their specifications: TomlReader notes where they are named, and Config has them all.
ListKey lookup_tables(std::vector<std::string>& values);

// … where no list means something else than an empty one.
ListKey optional_lookup_tables(std::optional<std::vector<std::string>>& values);

// Rules of regular expressions, as common::HeaderChecks reads them.
enum class CheckedPart : std::uint8_t { header, body, outgoing_header, outgoing_body };
ListKey check_rules(std::vector<std::string>& values, CheckedPart part);
// Rules for the replies of servers, as common::ReplyPatterns reads them.
ListKey reply_patterns(std::vector<std::string>& values);

// "example.com": letters, digits, hyphens and underscores between dots; lower case on return, and as the DNS
// has it where it was "bücher.example" (IDNA); "" if it is none.
std::string domain_name(std::string_view text);

} // namespace config
