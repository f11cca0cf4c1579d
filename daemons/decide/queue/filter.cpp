#include "daemons/decide/queue/filter.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace decide::queue {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), lower);
    return out;
}

constexpr std::array<std::string_view, 9> states = {"new",      "scheduled", "held",   "paused", "routing",
                                                    "retrying", "due",       "active", "report"};
constexpr std::array<std::string_view, 3> lanes = {"high", "normal", "bulk"};

// Digits, then one of the units' letters.
std::optional<std::int64_t> number_word(std::string_view text, std::string_view letters,
                                        std::span<const std::int64_t> factors, bool bare) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0 || text.front() == '-') return {};
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    std::int64_t factor = 1;
    if (unit.empty() ? !bare : unit.size() != 1) return {};
    if (!unit.empty()) {
        const auto at = letters.find(unit);
        if (at == letters.npos) return {};
        factor = factors[at];
    }
    std::int64_t value = 0;
    if (__builtin_mul_overflow(number, factor, &value)) return {};
    return value;
}

std::optional<std::int64_t> size_word(std::string_view text) {
    constexpr std::array<std::int64_t, 6> factors = {1 << 10, 1 << 10, 1 << 20, 1 << 20, 1 << 30, 1 << 30};
    return text.empty() ? std::nullopt : number_word(text, "kKmMgG", factors, true);
}

} // namespace

std::optional<smtp::Duration> duration_word(std::string_view text) {
    constexpr std::int64_t second = 1'000'000;
    constexpr std::array<std::int64_t, 5> factors = {second, 60 * second, 3600 * second, 86'400 * second,
                                                     7 * 86'400 * second};
    if (text.empty()) return {};
    const auto value = number_word(text, "smhdw", factors, false);
    return value ? std::optional(smtp::Duration(*value)) : std::nullopt;
}

bool wildcard(std::string_view pattern, std::string_view text) {
    std::size_t p = 0, t = 0, star = pattern.npos, back = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            back = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == lower(text[t]))) {
            ++p;
            ++t;
        } else if (star != pattern.npos) {
            p = star + 1;
            t = ++back;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

Filter::Group& Filter::group(Key key) {
    const auto known = std::ranges::find(groups_, key, &Group::key);
    if (known != groups_.end()) return *known;
    groups_.push_back({key, {}, {}});
    return groups_.back();
}

std::expected<Filter, std::string> Filter::parse(std::span<const std::string> words) {
    Filter filter;
    bool all = false;
    if (words.empty())
        return std::unexpected("no filter given: name messages by filter words, such as sender=*@example.org, or all");
    for (const std::string& word : words) {
        if (word == "all") {
            all = true;
            continue;
        }
        const auto equals = word.find('=');
        const std::string key = lowered(word.substr(0, equals));
        const auto known = std::ranges::find(keys, key);
        if (equals == word.npos || known == keys.end())
            return std::unexpected(
                fmt::format("\"{}\" is not a filter word: expected {}=… or all", word, fmt::join(keys, "=, ")));
        const auto which = static_cast<Key>(known - keys.begin());
        const std::string value = lowered(std::string_view(word).substr(equals + 1));
        if (value.empty()) return std::unexpected(fmt::format("{}= needs a value", key));
        if (which == Key::age || which == Key::size) {
            const bool signed_word = value.front() == '+' || value.front() == '-';
            const std::string_view rest = std::string_view(value).substr(1);
            std::optional<std::int64_t> number;
            if (signed_word && which == Key::size) number = size_word(rest);
            if (signed_word && which == Key::age)
                if (const auto age = duration_word(rest)) number = age->count();
            if (!number)
                return std::unexpected(fmt::format("{}: {}", word,
                                                   which == Key::age
                                                       ? "expected age=+2h (at least) or age=-10m (at most)"
                                                       : "expected size=+1M (at least) or size=-10K (at most)"));
            filter.group(which).bounds.push_back({value.front() == '+', *number});
            continue;
        }
        if (which == Key::state && std::ranges::find(states, value) == states.end())
            return std::unexpected(fmt::format("{}: expected one of {}", word, fmt::join(states, ", ")));
        if (which == Key::lane && std::ranges::find(lanes, value) == lanes.end())
            return std::unexpected(fmt::format("{}: expected one of {}", word, fmt::join(lanes, ", ")));
        filter.group(which).texts.push_back(value);
    }
    if (all && !filter.groups_.empty()) return std::unexpected("\"all\" cannot be combined with other filter words");
    return filter;
}

bool Filter::holds(const Group& group, const Facts& facts) {
    const auto any = [&](const std::vector<std::string>& values) {
        return std::ranges::any_of(group.texts, [&](const std::string& text) {
            return std::ranges::any_of(values, [&](const std::string& value) { return wildcard(text, value); });
        });
    };
    const auto within_any = [&](const std::vector<std::string>& values) {
        return std::ranges::any_of(group.texts, [&](const std::string& text) {
            return std::ranges::any_of(
                values, [&](const std::string& value) { return lowered(value).find(text) != std::string::npos; });
        });
    };
    const auto bare = [](std::string_view id) { // without <>
        return std::string(id.size() > 2 && id.front() == '<' && id.back() == '>' ? id.substr(1, id.size() - 2) : id);
    };
    const auto within = [&](std::int64_t value) {
        return std::ranges::all_of(group.bounds,
                                   [&](const Bound& b) { return b.least ? value >= b.value : value <= b.value; });
    };
    switch (group.key) {
    case Key::sender: return any({facts.sender.empty() ? "<>" : facts.sender});
    case Key::recipient: return any(facts.recipients);
    case Key::domain: return any(facts.domains);
    case Key::link: return any(facts.links);
    case Key::id: return any({facts.id});
    case Key::age: return within(facts.age.count());
    case Key::size: return within(static_cast<std::int64_t>(std::min<std::uint64_t>(facts.size, INT64_MAX)));
    case Key::state: return any(facts.states);
    case Key::lane: return any({facts.lane});
    case Key::reason: return within_any(facts.reasons);
    case Key::subject: return within_any({facts.subject});
    case Key::submitter: return any({facts.submitter});
    case Key::pool: return any({facts.pool});
    case Key::policy: return any({facts.policy});
    case Key::message_id: return any({facts.message_id, bare(facts.message_id)});
    }
    return false;
}

bool Filter::matches(const Facts& facts) const {
    return std::ranges::all_of(groups_, [&](const Group& group) { return holds(group, facts); });
}

bool Filter::in_file(Key key, const Facts& facts) {
    switch (key) {
    case Key::sender:
    case Key::recipient:
    case Key::reason:
    case Key::submitter:
    case Key::pool:
    case Key::policy:
    case Key::message_id:
    case Key::subject: return true;
    case Key::domain: return !facts.domains_known;
    case Key::link:
    case Key::id:
    case Key::age:
    case Key::size:
    case Key::state:
    case Key::lane: break;
    }
    return false;
}

bool Filter::needs_file(const Facts& facts) const {
    return std::ranges::any_of(groups_, [&](const Group& group) { return in_file(group.key, facts); });
}

bool Filter::needs_header() const {
    return std::ranges::any_of(
        groups_, [](const Group& group) { return group.key == Key::subject || group.key == Key::message_id; });
}

bool Filter::ruled_out(const Facts& facts) const {
    return std::ranges::any_of(groups_,
                               [&](const Group& group) { return !in_file(group.key, facts) && !holds(group, facts); });
}

} // namespace decide::queue
