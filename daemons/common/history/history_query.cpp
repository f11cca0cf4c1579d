#include "daemons/common/history/history_query.h"
#include "daemons/common/history/address_hash.h"
#include "daemons/decide/queue/filter.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace history {

using nlohmann::json;

namespace {

struct Word {
    std::string_view key;
    Subject subject;
    std::string_view member; // of the event
};

constexpr std::string_view meta_prefix = "meta.", header_prefix = "header.";

constexpr Word words[] = {
    {"id", Subject::id, "id"},
    {"message-id", Subject::message_id, "message_id"},
    {"address", Subject::address, ""},
    {"recipient", Subject::recipient, ""},
    {"sender", Subject::sender, "sender"},
    {"domain", Subject::domain, ""},
    {"type", Subject::type, "type"},
    {"class", Subject::member, "class"},
    {"code", Subject::code, "code"},
    {"status", Subject::member, "status"},
    {"stage", Subject::member, "stage"},
    {"text", Subject::text, "text"},
    {"by", Subject::member, "by"},
    {"host", Subject::host, ""},
    {"client", Subject::client, ""},
    {"link", Subject::member, "link"},
    {"pool", Subject::member, "pool"},
    {"lane", Subject::member, "lane"},
    {"submitter", Subject::member, "submitter"},
    {"source", Subject::member, "source"},
    {"listener", Subject::member, "listener"},
    {"who", Subject::member, "who"},
    {"key", Subject::member, "idempotency_key"},
};

std::string known_words() {
    std::string all;
    for (const auto& word : words) all += fmt::format("{}=, ", word.key);
    return all + "meta.NAME=, header.NAME=, since=, until=, an address, a queue id, or a Message-ID";
}

bool is_queue_id(std::string_view word) {
    constexpr std::string_view digits = "0123456789abcdefABCDEF";
    return word.size() >= 10 && word.size() <= 14 && word.find_first_not_of(digits) == word.npos;
}

std::string time_limit(smtp::WallTime time) {
    auto text = smtp::rfc3339_date(time);
    text.pop_back(); // "Z": events have a fraction before it
    return text;
}

// "2d" ago, "2026-11-20" at midnight in the reader's time zone, "2026-11-20T16:00:00Z".
std::optional<smtp::WallTime> point_in_time(std::string_view text, smtp::WallTime now) {
    if (const auto ago = decide::queue::duration_word(text)) return now - *ago;
    std::tm day{};
    const std::string copy(text);
    if (const char* end = ::strptime(copy.c_str(), "%Y-%m-%d", &day); end != nullptr && *end == '\0') {
        day.tm_isdst = -1;
        return smtp::WallTime(std::chrono::seconds(std::mktime(&day)));
    }
    return smtp::parse_rfc3339(text);
}

bool any(const std::vector<std::string>& patterns, std::string_view value) {
    return std::ranges::any_of(patterns,
                               [&](const std::string& pattern) { return decide::queue::wildcard(pattern, value); });
}

bool any_of_all(const std::vector<std::string>& patterns, const std::vector<std::string>& values) {
    return std::ranges::any_of(values, [&](const std::string& value) { return any(patterns, value); });
}

// As text, whatever it is.
std::string text_of_member(const json& event, std::string_view member) {
    const auto found = event.find(member);
    if (found == event.end()) return {};
    if (found->is_string()) return found->get<std::string>();
    return found->is_primitive() ? found->dump() : std::string();
}

std::vector<std::string> names_in(const json& event, std::string_view member, std::string_view name) {
    const auto peer = event.find(member);
    if (peer == event.end() || !peer->is_object()) return {};
    return {string_of(*peer, name), string_of(*peer, "address")};
}

bool has_sender(const json& event) { return string_of(event, "type").starts_with("message."); }

bool holds(const QueryTerm& term, const json& event) {
    const auto& patterns = term.patterns;
    const auto message_id = [&] {
        return event.contains("message_id") && any(patterns, bare_message_id(string_of(event, "message_id")));
    };
    const auto recipient = [&] { return any_of_all(patterns, recipients_of(event)); };
    const auto sender = [&] { return has_sender(event) && any(patterns, string_of(event, "sender")); };
    const auto named = [&](std::string_view object) { // what the submitter named
        const auto values = event.find(object);
        return values != event.end() && values->is_object() && values->contains(term.member) &&
               any(patterns, text_of_member(*values, term.member));
    };
    switch (term.subject) {
    case Subject::anything: return recipient() || sender() || message_id();
    case Subject::address: return recipient() || sender();
    case Subject::recipient: return recipient();
    case Subject::sender: return sender();
    case Subject::message_id: return message_id();
    case Subject::domain:
        return std::ranges::any_of(recipients_of(event),
                                   [&](const std::string& each) { return any(patterns, domain_of(each)); });
    case Subject::host: return any_of_all(patterns, names_in(event, "remote", "host"));
    case Subject::client: return any_of_all(patterns, names_in(event, "client", "name"));
    case Subject::text: {
        const auto text = lowered(string_of(event, "text"));
        return std::ranges::any_of(patterns, [&](const std::string& part) { return text.find(part) != text.npos; });
    }
    case Subject::meta: return named("meta");
    case Subject::header: return named("headers");
    case Subject::id:
    case Subject::type:
    case Subject::code:
    case Subject::member: return event.contains(term.member) && any(patterns, text_of_member(event, term.member));
    }
    return false;
}

// What a value means as a pattern.
std::string pattern_of(Subject subject, std::string_view value) {
    auto pattern = lowered(value);
    switch (subject) {
    case Subject::sender:
    case Subject::recipient:
    case Subject::address:
        if (pattern == "<>") return "";
        if (pattern.starts_with('@')) pattern.insert(0, "*"); // a whole domain
        break;
    case Subject::anything:
    case Subject::message_id: pattern = bare_message_id(pattern); break;
    case Subject::type: // "failed" is "message.failed"
        if (pattern.find('.') == pattern.npos && pattern.find('*') == pattern.npos) pattern.insert(0, "*.");
        break;
    case Subject::code: std::ranges::replace(pattern, 'x', '?'); break; // 4xx
    default: break;
    }
    return pattern;
}

} // namespace

std::string lowered(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::string_view bare_message_id(std::string_view id) {
    if (id.starts_with('<') && id.ends_with('>') && id.size() > 2) return id.substr(1, id.size() - 2);
    return id;
}

std::string domain_of(std::string_view address) {
    const auto at = address.rfind('@');
    return at == address.npos ? std::string() : lowered(address.substr(at + 1));
}

std::string string_of(const json& event, std::string_view member) {
    const auto found = event.find(member);
    return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> recipients_of(const json& event) {
    std::vector<std::string> found;
    for (const auto* member : {"recipient", "original_recipient"})
        if (auto text = string_of(event, member); !text.empty()) found.push_back(std::move(text));
    if (const auto list = event.find("recipients"); list != event.end() && list->is_array())
        for (const auto& each : *list)
            if (each.is_string()) found.push_back(each.get<std::string>());
    return found;
}

QueryTerm& HistoryQuery::term(std::string_view key, Subject subject, std::string_view member) {
    const auto known = std::ranges::find(terms_, key, &QueryTerm::key);
    if (known != terms_.end()) return *known;
    terms_.push_back({std::string(key), subject, std::string(member), {}});
    return terms_.back();
}

// As further patterns, of which each has one for the index.
void HistoryQuery::add_hashed(const AddressHash& hash) {
    for (auto& term : terms_) {
        const bool addresses = term.subject == Subject::anything || term.subject == Subject::address ||
                               term.subject == Subject::recipient || term.subject == Subject::sender;
        if (!addresses) continue;
        for (std::size_t n = 0, count = term.patterns.size(); n < count; ++n)
            if (const auto& pattern = term.patterns[n]; !pattern.empty() && pattern.find_first_of("*?") == pattern.npos)
                term.patterns.push_back(hash.of(pattern));
    }
}

std::expected<HistoryQuery, std::string> HistoryQuery::parse(std::span<const std::string> given, smtp::WallTime now,
                                                             const AddressHash* hash) {
    HistoryQuery query;
    for (const std::string& word : given) {
        const auto equals = word.find('=');
        const auto key = lowered(word.substr(0, equals));
        const auto* known = std::ranges::find(words, key, &Word::key);
        const bool meta = key.starts_with(meta_prefix) && key.size() > meta_prefix.size();
        const bool header = key.starts_with(header_prefix) && key.size() > header_prefix.size();
        const bool limit = key == "since" || key == "until";
        if (equals == word.npos || (known == std::end(words) && !meta && !header && !limit)) {
            // An address may have "=" in it.
            if (is_queue_id(word))
                query.term("id", Subject::id, "id").patterns.push_back(lowered(word));
            else if (word.find('@') != word.npos)
                query.term("", Subject::anything, "").patterns.push_back(pattern_of(Subject::anything, word));
            else
                return std::unexpected(
                    fmt::format("\"{}\" is not a word for the history: expected {}", word, known_words()));
            continue;
        }
        const auto value = std::string_view(word).substr(equals + 1);
        if (value.empty()) return std::unexpected(fmt::format("{}= needs a value", key));
        if (limit) {
            const auto time = point_in_time(value, now);
            if (!time)
                return std::unexpected(
                    fmt::format("{}: expected a duration such as 2d, a day such as 2026-11-20, or a time such as "
                                "2026-11-20T16:00:00Z",
                                word));
            (key == "since" ? query.since_ : query.until_) = time_limit(*time);
        } else if (meta) {
            query
                .term(key, Subject::meta,
                      std::string_view(word).substr(meta_prefix.size(), equals - meta_prefix.size()))
                .patterns.push_back(lowered(value));
        } else if (header) {
            query.term(key, Subject::header, std::string_view(key).substr(header_prefix.size()))
                .patterns.push_back(lowered(value));
        } else {
            query.term(key, known->subject, known->member).patterns.push_back(pattern_of(known->subject, value));
        }
    }
    if (hash != nullptr) query.add_hashed(*hash);
    return query;
}

bool HistoryQuery::matches(const json& event) const {
    if (!event.is_object()) return false;
    if (!since_.empty() || !until_.empty()) {
        const auto time = string_of(event, "time");
        if ((!since_.empty() && time < since_) || (!until_.empty() && time >= until_)) return false;
    }
    return std::ranges::all_of(terms_, [&](const QueryTerm& term) { return holds(term, event); });
}

} // namespace history
