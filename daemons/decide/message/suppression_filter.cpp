#include "daemons/decide/message/suppression_filter.h"
#include "daemons/decide/queue/filter.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace decide {

namespace {
constexpr std::array<std::string_view, 9> keys = {"recipient", "domain", "sender", "pool", "lane",
                                                  "who",       "reason", "age",    "kind"};
}

std::expected<SuppressionFilter, std::string> SuppressionFilter::parse(std::span<const std::string> words) {
    SuppressionFilter out;
    bool all = false;
    for (const std::string& word : words) {
        if (word == "all") {
            all = true;
            continue;
        }
        const auto equals = word.find('=');
        const auto known = std::ranges::find(keys, smtp::lowered(std::string_view(word).substr(0, equals)));
        if (equals == word.npos || known == keys.end())
            return std::unexpected(
                fmt::format("\"{}\" is not a filter word: expected {}=… or all", word, fmt::join(keys, "=, ")));
        Word made{.key = static_cast<Key>(known - keys.begin()),
                  .text = smtp::lowered(std::string_view(word).substr(equals + 1))};
        const std::string_view text = made.text;
        if (text.empty() && made.key != Key::sender) return std::unexpected(fmt::format("{}= needs a value", *known));
        if (made.key == Key::age) {
            const auto age = text[0] == '+' || text[0] == '-' ? queue::duration_word(text.substr(1)) : std::nullopt;
            if (!age)
                return std::unexpected(fmt::format("{}: expected age=+30d (at least) or age=-1h (at "
                                                   "most)",
                                                   word));
            made.least = text[0] == '+';
            made.age = *age;
        }
        if (made.key == Key::kind && text != "automatic" && text != "manual")
            return std::unexpected(fmt::format("{}: expected automatic or manual", word));
        out.words_.push_back(std::move(made));
    }
    if (all && !out.words_.empty())
        return std::unexpected("\"all\" cannot be combined with other filter "
                               "words");
    return out;
}

bool SuppressionFilter::matches(const Suppression& entry, smtp::WallTime now) const {
    const auto holds = [&](const Word& word) {
        switch (word.key) {
        case Key::recipient: return queue::wildcard(word.text, entry.recipient);
        case Key::domain:
            return queue::wildcard(word.text, std::string_view(entry.recipient).substr(entry.recipient.rfind('@') + 1));
        case Key::sender: return queue::wildcard(word.text, entry.scope.sender);
        case Key::pool: return queue::wildcard(word.text, smtp::lowered(entry.scope.pool));
        case Key::lane: return queue::wildcard(word.text, entry.scope.lane);
        case Key::who: return queue::wildcard(word.text, entry.who);
        case Key::reason:
            return smtp::lowered(entry.reason).find(word.text) != std::string::npos ||
                   smtp::lowered(entry.reply).find(word.text) != std::string::npos;
        case Key::age: return word.least ? now - entry.added >= word.age : now - entry.added <= word.age;
        case Key::kind: return entry.automatic == (word.text == "automatic");
        }
        return false;
    };
    return std::ranges::all_of(words_, [&](const Word& word) { // ages bound from both sides
        if (word.key == Key::age) return holds(word);
        return std::ranges::any_of(words_, [&](const Word& each) { return each.key == word.key && holds(each); });
    });
}

} // namespace decide
