// The keys of hooks.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/hook.h"
#include "daemons/common/history/history_query.h"
#include "daemons/common/net/web_address.h"
#include "daemons/common/text/units.h"
#include "daemons/decide/queue/filter.h"
#include "libspool/journal/event_type.h"
#include <algorithm>

namespace config {

using namespace std::chrono_literals;

namespace {

using spool::journal::EventType;

TextKey web_address(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                const auto address = common::WebAddress::parse(text);
                if (!address) return address.error();
                value = text;
                return std::nullopt;
            },
            [&value] { return value; }};
}

// At least one event has such a name.
Refusal read_event(std::string_view text, std::string& value) {
    const auto pattern = history::lowered(text);
    std::string known;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(EventType::last_); ++i) {
        const auto name = name_of(static_cast<EventType>(i));
        if (decide::queue::wildcard(pattern, name)) {
            value = pattern;
            return std::nullopt;
        }
        known += (known.empty() ? "" : ", ") + std::string(name);
    }
    return fmt::format("\"{}\" matches no event: expected \"*\", a pattern such as \"message.*\", or one of {}", text,
                       known);
}

Refusal read_filter_word(std::string_view text, std::string& value) {
    const std::string word(text);
    if (const auto key = word.substr(0, word.find('=')); key == "since" || key == "until")
        return fmt::format("\"{}\": a hook gets events as they are written, so there are no limits of time", text);
    const auto query = history::HistoryQuery::parse({&word, 1}, {});
    if (!query) return query.error();
    value = word;
    return std::nullopt;
}

// "Name: value", of those that requests do not have anyway.
Refusal read_header(std::string_view text, std::string& value) {
    const auto colon = text.find(':');
    const auto name = history::lowered(text.substr(0, colon));
    constexpr std::string_view token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
    if (colon == text.npos || name.empty() || name.find_first_not_of(token) != name.npos)
        return fmt::format("\"{}\" is not a header field: expected one such as \"X-Tenant: shop\"", text);
    if (std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
        return "control characters are not allowed";
    constexpr std::string_view ours[] = {"content-type", "content-length", "transfer-encoding", "connection",
                                         "expect",       "host",           "user-agent"};
    if (name.starts_with("webhook-") || std::ranges::find(ours, name) != std::end(ours))
        return fmt::format("\"{}\": this field is set by the hook itself", text.substr(0, colon));
    value = text;
    return std::nullopt;
}

ListKey waits(std::vector<Duration>& values) {
    return {[&values] { values.clear(); },
            [&values](std::string_view text) -> Refusal {
                const auto value = parse_duration(text);
                if (!value || *value < 1s || *value > 24h * 7)
                    return fmt::format("\"{}\" is not a valid wait: expected 1s to 7d, such as \"5m\"", text);
                if (values.size() == Hook::most_retries)
                    return fmt::format("too many waits: expected at most {}", Hook::most_retries);
                values.push_back(*value);
                return std::nullopt;
            },
            [&values] {
                std::vector<std::string> shown;
                for (const auto value : values) shown.push_back(print_duration(value));
                return shown;
            }};
}

// Arguments may be equal to one another.
ListKey command_line(std::vector<std::string>& values) {
    return {[&values] { values.clear(); },
            [&values](std::string_view text) -> Refusal {
                if (values.empty() && !text.starts_with('/'))
                    return fmt::format("\"{}\": expected the absolute path of a program", text);
                if (text.find('\0') != text.npos) return "a NUL character is not allowed";
                values.emplace_back(text);
                return std::nullopt;
            },
            [&values] { return values; }};
}

} // namespace

Section section_for(Hook& s) {
    return {
        "hook.<name>",
        "Pushes events of the journal (postrider-journal(5)) to a web server or a command, in their order and each at "
        "least once, as long as the journal has them; see postrider-hook(7). A new hook begins with the events that "
        "are written after it was configured. At most 16 hooks; a name has letters, digits, \"-\" and \"_\".",
        {
            {"url", web_address(s.url),
             "Address that events are sent to with POST, as Standard Webhooks 1.0 describes. It must begin with "
             "https://; http:// is for this host only, unless allow_http is set. Either url or command is required.",
             "\"https://shop.example.com/hooks/mail\"", true},
            {"allow_http", BoolKey{&s.allow_http},
             "Whether url may be http:// although the server is on another host: addresses of senders and recipients "
             "are then sent in plain text.",
             ""},
            {"secret_file", any_text(s.secret_file),
             "File with the secret that requests are signed with: a line \"whsec_\" and 24 to 64 random bytes in "
             "Base64. With two lines, each request has two signatures, so that a secret can be replaced without a "
             "break. Required with url. It must be readable only by root and the user mta.user; changes are applied "
             "within seconds.",
             "\"/etc/postrider/shop.secret\""},
            {"command", command_line(s.command),
             "Program, with its arguments, that gets events as lines of JSON on standard input, instead of url. For "
             "each it prints the member seq on a line of its own when it needs the event no longer; this also "
             "acknowledges the events before it. It runs as the user mta.user and must end at the end of its input. "
             "If it ends earlier, or acknowledges nothing for timeout, it is started again after the times of retry.",
             "", true},
            {"events", list_of<std::string>(s.events, read_event), "Events to send; * and ? are wildcards.",
             "[\"message.failed\", \"message.expired\", \"suppression.*\"]"},
            {"filter", list_of<std::string>(s.filter, read_filter_word),
             "Words that events must match, as in \"postrider history\": several words of one key are alternatives, "
             "words of different keys must all match.",
             "[\"submitter=sasl:shop\"]"},
            {"batch", IntKey{&s.batch, 0, 1000},
             "Maximum number of events in one request, which then always has the form {\"type\":\"batch\",\"data\":"
             "[…]}, even with one event. 0: one event in each request, without that form. For a command: maximum "
             "number of lines that it has not acknowledged; 0 means 100.",
             ""},
            {"headers", list_of<std::string>(s.headers, read_header),
             "Header fields to add to requests. Do not write secrets here: this file is readable by all users.",
             "[\"X-Tenant: shop\"]", true},
            {"timeout", DurationKey{&s.timeout, 1s, 5min}, "Time limit for a request, including connection and answer.",
             ""},
            {"retry", waits(s.retry),
             "Waits before the retries of a request that has failed, each longer by up to a tenth at random. The last "
             "one is repeated.",
             ""},
            {"hold", DurationKey{&s.hold, 0s, 24h * 365},
             "How long events that this hook has yet to send are kept although history.keep or history.size are "
             "exceeded. What is then removed is reported to it as one event hook.gap.",
             ""},
        }};
}

} // namespace config
