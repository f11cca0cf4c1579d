#include "daemons/import-postfix/restrictions/postscreen.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/restrictions/dns_lists.h"
#include <algorithm>
#include <climits>
#include <fmt/format.h>

namespace postrider {

namespace {

class Postscreen {
public:
    Postscreen(Import& import, const Import::Listener& listener, DnsLists& dns_lists)
        : import_(import), listener_(listener), dns_lists_(dns_lists) {}

    void convert() {
        const bool any = convert_greeting() | convert_lists() | convert_session_tests() | convert_access_list();
        if (!any) return;
        set("enabled", "true", "postscreen_greet_action");
        const auto is_another = [this](const auto& other) { return !other.submission && other.name != listener_.name; };
        if (std::ranges::any_of(import_.listeners, is_another))
            set("listeners", toml(std::vector{listener_.name}), "postscreen_greet_action");
        if (given("postscreen_cache_retention_time")) set_duration("retention", "postscreen_cache_retention_time", 'd');
        if (given("postscreen_pre_queue_limit"))
            if (const auto limit = postfix::number_of(value("postscreen_pre_queue_limit")); limit && *limit > 0)
                set("maximum_waiting", toml(*limit), "postscreen_pre_queue_limit");
    }

private:
    std::string value(std::string_view name) {
        import_.mark_converted(name);
        return import_.value(listener_.values, name);
    }
    bool given(std::string_view name) const { return listener_.values.given(name) != nullptr; } // also by its -o
    // Of a test: "enforce" or "drop"; "" it rejects no client.
    std::string action(std::string_view name) {
        auto text = value(name);
        return text == "enforce" || text == "drop" ? text : "";
    }
    void set(std::string_view key, std::string value, std::string_view from) {
        import_.set(fmt::format("client_tests.{}", key), std::move(value), from);
    }
    void set_duration(std::string_view key, std::string_view from, char unit) {
        if (const auto seconds = postfix::seconds_of(value(from), unit); seconds && *seconds > 0)
            set(key, toml(fmt::format("{}s", *seconds)), from);
    }

    bool convert_greeting() {
        const auto acts = action("postscreen_greet_action");
        const auto wait = postfix::seconds_of(value("postscreen_greet_wait"), 's');
        if (acts.empty() || !wait || *wait == 0) return false;
        import_.set("smtpd.greeting_delay", toml(fmt::format("{}s", *wait)), "postscreen_greet_wait");
        set("early_talk_action", toml(acts), "postscreen_greet_action");
        if (given("postscreen_greet_ttl")) set_duration("early_talk_lifetime", "postscreen_greet_ttl", 's');
        return true;
    }

    bool convert_lists() {
        const auto acts = action("postscreen_dnsbl_action");
        const auto sites = postfix::words_of(value("postscreen_dnsbl_sites"));
        const auto threshold = postfix::number_of(value("postscreen_dnsbl_threshold"));
        if (acts.empty()) {
            import_.add_remark("postscreen_dnsbl_sites",
                               "postscreen_dnsbl_action is ignore: the lists reject no client "
                               "and are not queried");
            return false;
        }
        if (sites.empty()) return false;
        if (threshold) import_.set("smtpd.dns_list_threshold", toml(*threshold), "postscreen_dnsbl_threshold");
        set("dns_list_action", toml(acts), "postscreen_dnsbl_action");
        for (const auto& word : sites) convert_list(word);
        if (given("postscreen_dnsbl_ttl")) set_duration("dns_list_maximum_lifetime", "postscreen_dnsbl_ttl", 'h');
        if (given("postscreen_dnsbl_max_ttl"))
            set_duration("dns_list_maximum_lifetime", "postscreen_dnsbl_max_ttl", 'h');
        if (given("postscreen_dnsbl_min_ttl"))
            set_duration("dns_list_minimum_lifetime", "postscreen_dnsbl_min_ttl", 's');
        if (given("postscreen_dnsbl_timeout")) set_duration("dns_list_timeout", "postscreen_dnsbl_timeout", 's');
        for (const std::string_view name :
             {"postscreen_dnsbl_whitelist_threshold", "postscreen_dnsbl_allowlist_threshold"}) {
            if (!given(name)) continue;
            auto text = value(name);
            if (!text.starts_with('-')) continue; // 0: off
            if (const auto sum = postfix::number_of(text.substr(1)); sum && *sum > 0)
                set("dns_list_allow_threshold", toml(*sum), name);
        }
        return true;
    }

    void convert_list(const std::string& word) {
        const auto star = std::min(word.find('*'), word.size());
        int weight = 1;
        if (star < word.size()) weight = static_cast<int>(std::strtol(word.c_str() + star + 1, nullptr, 10));
        if (weight == 0 || weight == INT_MIN ||
            !dns_lists_.add(word.substr(0, star), weight < 0, std::abs(weight), listener_.name,
                            "postscreen_dnsbl_sites"))
            import_.mark_unsupported("postscreen_dnsbl_sites",
                                     fmt::format("{}: name the zone, and the answers to react to, in a "
                                                 "[dns_list.\"ZONE\"]",
                                                 word));
    }

    bool convert_session_tests() {
        constexpr std::pair<std::string_view, std::string_view> tests[] = {
            {"pipelining", "pipelining_action"},
            {"non_smtp_command", "non_smtp_action"},
            {"bare_newline", "bare_newline_action"},
        };
        std::optional<std::uint64_t> shortest;
        std::string from;
        bool any = false;
        for (const auto& [test, key] : tests) {
            const auto name = fmt::format("postscreen_{}_", test);
            const bool enabled = postfix::flag_of(value(name + "enable")).value_or(false);
            const auto acts = action(name + "action");
            if (!enabled || acts.empty()) continue;
            any = true;
            set(key, toml(acts), name + "action");
            const auto lifetime = postfix::seconds_of(value(name + "ttl"), 's');
            if (!given(name + "ttl") || !lifetime || *lifetime == 0) continue;
            if (!shortest || *lifetime < *shortest) from = name + "ttl", shortest = lifetime;
        }
        if (shortest) set("session_lifetime", toml(fmt::format("{}s", *shortest)), from);
        return any;
    }

    bool convert_access_list() {
        constexpr std::string_view name = "postscreen_access_list";
        // Its default is the older name; either may be given for the service only.
        std::string denied, from;
        for (const std::string_view each : {"postscreen_blacklist_action", "postscreen_denylist_action"})
            if (given(each)) {
                denied = action(each);
                from = each;
            }
        std::vector<std::string> tables;
        for (const auto& word : postfix::words_of(value(name))) {
            if (word == "permit_mynetworks") continue; // these are never tested
            if (const auto table = converted_table(import_, name, word))
                tables.push_back(*table);
            else if (!import_.error && !denied.empty())
                import_.mark_unguarded(name, word, "the table could not be converted");
        }
        if (tables.empty() || import_.error) return false;
        set("tables", toml(tables), name);
        set("denied_action", toml(denied.empty() ? std::string("ignore") : denied), from.empty() ? name : from);
        return true;
    }

    Import& import_;
    const Import::Listener& listener_;
    DnsLists& dns_lists_;
};

} // namespace

void import_postscreen(Import& import, DnsLists& dns_lists) {
    const auto listener =
        std::ranges::find_if(import.listeners, [](const auto& each) { return each.service->command == "postscreen"; });
    if (listener != import.listeners.end()) Postscreen(import, *listener, dns_lists).convert();
}

} // namespace postrider
