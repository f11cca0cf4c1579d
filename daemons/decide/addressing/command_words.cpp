#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/rewriting/address_keys.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace decide {

namespace {

constexpr std::string_view prefix = "command:";
constexpr std::string_view places[] = {"recipient", "original_recipient", "sender", "local", "user", "extension",
                                       "domain",    "queue_id",           "size"};

std::string value_of(std::string_view place, const CommandFacts& facts) {
    const auto parts = AddressParts::of(facts.recipient);
    if (place == "recipient") return std::string(facts.recipient);
    if (place == "original_recipient") return std::string(facts.original_recipient);
    if (place == "sender") return std::string(facts.sender);
    if (place == "local") return std::string(parts.local);
    if (place == "user") return std::string(parts.name(facts.delimiter));
    if (place == "extension") {
        const auto extension = parts.extension(facts.delimiter);
        return std::string(extension.substr(std::min<std::size_t>(extension.size(), 1)));
    }
    if (place == "domain") return smtp::lowered(parts.domain);
    if (place == "queue_id") return std::string(facts.queue_id);
    return std::to_string(facts.size);
}

// The name in braces at the beginning; nothing: there is none.
std::optional<std::string_view> place_at(std::string_view text) {
    if (!text.starts_with('{')) return {};
    const auto end = text.find('}');
    if (end == text.npos) return {};
    return text.substr(1, end - 1);
}

} // namespace

std::string_view name_of_command(std::string_view target) {
    return target.starts_with(prefix) ? target.substr(prefix.size()) : std::string_view();
}

std::string command_target(std::string_view name) { return fmt::format("{}{}", prefix, name); }

std::optional<std::string> unknown_place(std::string_view word) {
    for (auto open = word.find('{'); open != word.npos; open = word.find('{', open + 1)) {
        const auto place = place_at(word.substr(open));
        if (!place) return std::string(word.substr(open));
        if (std::ranges::find(places, *place) == std::end(places)) return fmt::format("{{{}}}", *place);
    }
    return {};
}

std::expected<std::vector<std::string>, std::string> command_words(const std::vector<std::string>& words,
                                                                   const CommandFacts& facts) {
    std::vector<std::string> out;
    out.reserve(words.size());
    for (const auto& word : words) {
        std::string made;
        for (std::size_t at = 0; at < word.size();) {
            const auto place = place_at(std::string_view(word).substr(at));
            if (!place) {
                made += word[at++];
                continue;
            }
            const auto value = value_of(*place, facts);
            if (value.find('\0') != value.npos) return std::unexpected(fmt::format("{} has a NUL character", *place));
            if (made.empty() && value.starts_with('-'))
                return std::unexpected(
                    fmt::format("{} \"{}\" begins with \"-\": the program would take it for an option", *place,
                                smtp::printable(value, 100)));
            made += value;
            at += place->size() + 2;
        }
        out.push_back(std::move(made));
    }
    return out;
}

} // namespace decide
