#include "daemons/decide/access/rule.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

namespace decide::access {

namespace {

enum class Argument : std::uint8_t { none, table, zone, service };

struct Word {
    std::string_view name;
    Check check;
    Subject subject = Subject::list;
    Argument argument = Argument::none;
    Servers servers = Servers::none;
};

using S = Subject;
constexpr Word words[] = {
    {"permit", Check::permit},
    {"reject", Check::reject},
    {"defer", Check::defer},
    {"defer_if_permit", Check::defer_if_permit},
    {"defer_if_reject", Check::defer_if_reject},
    {"permit_mynetworks", Check::permit_networks},
    {"permit_sasl_authenticated", Check::permit_authenticated},
    {"permit_tls_clientcerts", Check::permit_listed_certificate},
    {"permit_tls_all_clientcerts", Check::permit_verified_certificate},
    {"permit_auth_destination", Check::permit_ours},
    {"reject_unauth_destination", Check::reject_elsewhere},
    {"defer_unauth_destination", Check::defer_elsewhere},
    {"reject_plaintext_session", Check::reject_plaintext},
    {"reject_multi_recipient_bounce", Check::reject_bounces_to_many},
    {"reject_unauth_pipelining", Check::done_anyway},
    {"reject_unlisted_recipient", Check::done_anyway},
    {"reject_invalid_helo_hostname", Check::invalid_name, S::helo},
    {"reject_non_fqdn_helo_hostname", Check::not_qualified, S::helo},
    {"reject_non_fqdn_sender", Check::not_qualified, S::sender},
    {"reject_non_fqdn_recipient", Check::not_qualified, S::recipient},
    {"reject_unknown_client_hostname", Check::unknown, S::client},
    {"reject_unknown_reverse_client_hostname", Check::unknown, S::reverse_client},
    {"reject_unknown_helo_hostname", Check::unknown, S::helo},
    {"reject_unknown_sender_domain", Check::unknown, S::sender},
    {"reject_unknown_recipient_domain", Check::unknown, S::recipient},
    {"reject_unverified_sender", Check::unverified, S::sender},
    {"reject_unverified_recipient", Check::unverified, S::recipient},
    {"reject_sender_login_mismatch", Check::foreign_sender, S::sender},
    {"reject_authenticated_sender_login_mismatch", Check::foreign_sender_of_user, S::sender},
    {"reject_unauthenticated_sender_login_mismatch", Check::foreign_sender_of_nobody, S::sender},
    {"reject_known_sender_login_mismatch", Check::foreign_known_sender, S::sender},
    {"reject_rbl_client", Check::listed, S::client, Argument::zone, Servers::addresses},
    {"reject_rhsbl_client", Check::listed, S::client, Argument::zone},
    {"reject_rhsbl_reverse_client", Check::listed, S::reverse_client, Argument::zone},
    {"reject_rhsbl_helo", Check::listed, S::helo, Argument::zone},
    {"reject_rhsbl_sender", Check::listed, S::sender, Argument::zone},
    {"reject_rhsbl_recipient", Check::listed, S::recipient, Argument::zone},
    {"permit_dnswl_client", Check::allowed, S::client, Argument::zone, Servers::addresses},
    {"permit_rhswl_client", Check::allowed, S::client, Argument::zone},
    {"check_client_access", Check::table, S::client, Argument::table},
    {"check_reverse_client_hostname_access", Check::table, S::reverse_client, Argument::table},
    {"check_helo_access", Check::table, S::helo, Argument::table},
    {"check_sender_access", Check::table, S::sender, Argument::table},
    {"check_recipient_access", Check::table, S::recipient, Argument::table},
    {"check_sasl_access", Check::table, S::login, Argument::table},
    {"check_ccert_access", Check::table, S::certificate, Argument::table},
    {"check_client_a_access", Check::table, S::client, Argument::table, Servers::addresses},
    {"check_client_mx_access", Check::table, S::client, Argument::table, Servers::mail},
    {"check_client_ns_access", Check::table, S::client, Argument::table, Servers::name},
    {"check_reverse_client_hostname_a_access", Check::table, S::reverse_client, Argument::table, Servers::addresses},
    {"check_reverse_client_hostname_mx_access", Check::table, S::reverse_client, Argument::table, Servers::mail},
    {"check_reverse_client_hostname_ns_access", Check::table, S::reverse_client, Argument::table, Servers::name},
    {"check_helo_a_access", Check::table, S::helo, Argument::table, Servers::addresses},
    {"check_helo_mx_access", Check::table, S::helo, Argument::table, Servers::mail},
    {"check_helo_ns_access", Check::table, S::helo, Argument::table, Servers::name},
    {"check_sender_a_access", Check::table, S::sender, Argument::table, Servers::addresses},
    {"check_sender_mx_access", Check::table, S::sender, Argument::table, Servers::mail},
    {"check_sender_ns_access", Check::table, S::sender, Argument::table, Servers::name},
    {"check_recipient_a_access", Check::table, S::recipient, Argument::table, Servers::addresses},
    {"check_recipient_mx_access", Check::table, S::recipient, Argument::table, Servers::mail},
    {"check_recipient_ns_access", Check::table, S::recipient, Argument::table, Servers::name},
    {"check_policy_service", Check::policy_service, S::list, Argument::service},
};

// Former names of Postfix for the same rules.
constexpr std::pair<std::string_view, std::string_view> old_names[] = {
    {"reject_unknown_client", "reject_unknown_client_hostname"},
    {"reject_unknown_hostname", "reject_unknown_helo_hostname"},
    {"reject_invalid_hostname", "reject_invalid_helo_hostname"},
    {"reject_non_fqdn_hostname", "reject_non_fqdn_helo_hostname"},
    {"reject_unknown_address", "reject_unknown_sender_domain"},
    {"reject_rbl", "reject_rbl_client"},
    {"check_recipient_maps", "reject_unlisted_recipient"},
};

// Rules of Postfix that are not here. "…_" stands for all that begin so.
constexpr std::pair<std::string_view, std::string_view> missing[] = {
    {"permit_mx_backup", "list the domains in relay.domains"},
    {"permit_inet_interfaces", "list this system's addresses in relay.networks"},
    {"permit_naked_ip_address", "remove it; use permit_mynetworks"},
    {"check_etrn_access", "set listen.NAME.etrn_networks"},
    {"check_relay_domains", "use reject_unauth_destination"},
    {"reject_maps_rbl", "use reject_rbl_client for each list"},
    {"reject_unlisted_sender", "senders are not looked up"},
    {"sleep", "smtpd.greeting_delay delays the greeting"},
};

std::unexpected<smtp::Malformed> wrong(std::string why) { return std::unexpected(smtp::Malformed{std::move(why)}); }

constexpr std::string_view blanks = " \t\r\n";

// The next word; the rest stays in `text`.
std::string_view take(std::string_view& text, std::string_view separators = blanks) {
    const auto begin = std::min(text.find_first_not_of(separators), text.size());
    const auto end = std::min(text.find_first_of(separators, begin), text.size());
    const auto word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

const Word* word_of(std::string_view name) {
    const auto found = std::ranges::find_if(words, [&](const auto& each) { return each.name == name; });
    return found == std::end(words) ? nullptr : &*found;
}

std::optional<std::string_view> advice_on(std::string_view name) {
    for (const auto& [begin, advice] : missing)
        if (begin == name || (begin.ends_with('_') && name.starts_with(begin))) return advice;
    return {};
}

bool is_class_name(std::string_view text) {
    return !text.empty() && text.size() <= 100 && std::ranges::all_of(text, [](char c) {
        return smtp::is_letter(c) || smtp::is_digit(c) || c == '_' || c == '-';
    });
}

bool is_zone(std::string_view text) {
    return !text.empty() && text.size() <= 200 && !text.starts_with('.') && text.find("..") == text.npos &&
           std::ranges::all_of(text, [](char c) {
               return smtp::is_letter(c) || smtp::is_digit(c) || c == '_' || c == '-' || c == '.';
           });
}

// A rule from its first word and those behind it, which it takes.
std::expected<Rule, smtp::Malformed> rule_of(std::string_view& text, std::string_view separators) {
    const auto before = text;
    auto name = smtp::lowered(take(text, separators));
    Rule rule;
    if (name == "warn_if_reject") {
        rule.warn_only = true;
        name = smtp::lowered(take(text, separators));
    }
    if (name.empty()) return wrong("empty rule");
    for (const auto& [old, now] : old_names)
        if (name == old) name = now;
    const auto* word = word_of(name);
    if (!word) {
        if (const auto advice = advice_on(name)) return wrong(fmt::format("{} is not supported: {}", name, *advice));
        if (!is_class_name(name))
            return wrong(
                fmt::format("\"{}\" is neither a rule nor the name of an [access_class]", smtp::printable(name, 100)));
        rule.check = Check::rule_class;
        rule.argument = name;
    } else {
        rule.check = word->check, rule.subject = word->subject, rule.servers = word->servers;
        if (word->argument != Argument::none) {
            rule.argument = take(text, separators);
            if (rule.argument.empty())
                return wrong(fmt::format("{}: expected {} after it", name,
                                         word->argument == Argument::table  ? "a table"
                                         : word->argument == Argument::zone ? "the zone of a DNS list"
                                                                            : "the name of a [policy.NAME]"));
        }
        if (word->argument == Argument::zone) {
            const auto equals = std::min(rule.argument.find('='), rule.argument.size());
            if (equals < rule.argument.size()) {
                rule.answers = rule.argument.substr(equals + 1);
                if (!is_valid_pattern(rule.answers))
                    return wrong(fmt::format("{}: \"{}\" is not a valid answer: expected an address such as 127.0.0.2 "
                                             "or 127.0.0.[2..4;8]",
                                             name, smtp::printable(rule.answers, 100)));
                rule.argument.resize(equals);
            }
            rule.argument = smtp::lowered(rule.argument);
            if (!is_zone(rule.argument))
                return wrong(fmt::format("{}: \"{}\" is not a valid zone", name, smtp::printable(rule.argument, 100)));
        }
    }
    rule.text = smtp::trimmed(before.substr(0, before.size() - text.size()));
    while (!rule.text.empty() && rule.text.front() == ',') rule.text = smtp::trimmed(rule.text.substr(1));
    return rule;
}

// --- answers of DNS lists

std::optional<unsigned> number(std::string_view& text) {
    std::size_t digits = 0;
    while (digits < text.size() && smtp::is_digit(text[digits])) ++digits;
    const auto value = smtp::parse_number(text.substr(0, digits), 255);
    if (!value) return {};
    text.remove_prefix(digits);
    return static_cast<unsigned>(*value);
}

bool skip(std::string_view& text, std::string_view what) {
    if (!text.starts_with(what)) return false;
    text.remove_prefix(what.size());
    return true;
}

// "3", "[2..4;8]": whether the number is in it; nullopt: invalid.
std::optional<bool> octet_matches(std::string_view& pattern, unsigned value) {
    const auto range = [&](std::string_view& text) -> std::optional<bool> {
        const auto first = number(text);
        if (!first) return {};
        if (!skip(text, "..")) return *first == value;
        const auto last = number(text);
        if (!last || *last < *first) return {};
        return *first <= value && value <= *last;
    };
    if (!skip(pattern, "[")) {
        const auto only = number(pattern);
        if (!only) return {};
        return *only == value;
    }
    bool any = false;
    do {
        const auto one = range(pattern);
        if (!one) return {};
        any = any || *one;
    } while (skip(pattern, ";"));
    if (!skip(pattern, "]")) return {};
    return any;
}

std::optional<bool> match(std::string_view pattern, std::string_view address) {
    bool all = true;
    for (int i = 0; i < 4; ++i) {
        if (i > 0 && (!skip(pattern, ".") || !skip(address, "."))) return {};
        const auto value = number(address);
        const auto one = value ? octet_matches(pattern, *value) : std::nullopt;
        if (!one) return {};
        all = all && *one;
    }
    if (!pattern.empty() || !address.empty()) return {};
    return all;
}

} // namespace

std::string_view name_of(List list) {
    constexpr std::string_view names[] = {"client", "helo", "sender", "relay", "recipient", "data", "end_of_data"};
    return names[static_cast<std::size_t>(list)];
}

std::expected<Rule, smtp::Malformed> Rule::parse(std::string_view text) {
    auto rest = text;
    auto rule = rule_of(rest, blanks);
    if (rule && !smtp::trimmed(rest).empty())
        return wrong(fmt::format("\"{}\": unexpected text after the rule: each rule is a string of its own",
                                 smtp::printable(smtp::trimmed(rest), 100)));
    return rule;
}

std::expected<std::vector<Rule>, smtp::Malformed> Rule::parse_value(std::string_view text) {
    constexpr std::string_view separators = " \t\r\n,";
    std::vector<Rule> rules;
    while (text.find_first_not_of(separators) != text.npos) {
        if (rules.size() == most_in_value) return wrong(fmt::format("more than {} rules", most_in_value));
        auto rule = rule_of(text, separators);
        if (!rule) return std::unexpected(std::move(rule).error());
        rules.push_back(*std::move(rule));
    }
    if (rules.empty()) return wrong("empty value");
    return rules;
}

bool matches_answer(std::string_view pattern, std::string_view address) {
    return match(pattern, address).value_or(false);
}

bool is_valid_pattern(std::string_view pattern) { return match(pattern, "127.0.0.2").has_value(); }

const std::vector<Rule>& RuleSet::list(List which) const {
    static const std::vector<Rule> none;
    const auto found = lists.find(which);
    return found == lists.end() ? none : found->second;
}

} // namespace decide::access
