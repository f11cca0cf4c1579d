#include "daemons/import-postfix/restrictions/access_rules.h"
#include "daemons/decide/access/result_lint.h"
#include "daemons/decide/access/rule.h"
#include "daemons/decide/routing/filter_destination.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/content_filters.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

using decide::access::Check;
using decide::access::Rule;
using postfix::Restriction;

namespace {

constexpr std::string_view classes_setting = "smtpd_restriction_classes";
constexpr std::size_t most_entries_named = 10;

// Restrictions that are covered without a rule if all of a listener's are.
bool covered_otherwise(Check check) {
    switch (check) {
    case Check::permit:
    case Check::permit_networks:
    case Check::permit_authenticated:
    case Check::permit_listed_certificate:
    case Check::permit_verified_certificate:
    case Check::permit_ours:
    case Check::reject_elsewhere:
    case Check::defer_elsewhere:
    case Check::reject_bounces_to_many:
    case Check::done_anyway:
    case Check::policy_service: return true;
    default: return false;
    }
}

// "reject", without an argument it may need.
std::optional<Rule> rule_like(const Restriction& restriction) {
    auto rule = Rule::parse(restriction.word + (restriction.more.empty() ? "" : " x"));
    if (!rule || rule->check == Check::rule_class) return {};
    return *std::move(rule);
}

// The restriction in "warn_if_reject RESTRICTION".
Restriction inner(const Restriction& warning) {
    const auto blank = std::min(warning.more.find(' '), warning.more.size());
    return {warning.more.substr(0, blank), blank < warning.more.size() ? warning.more.substr(blank + 1) : ""};
}

// "FILTER x": x; else "".
std::string_view value_of_filter(std::string_view value) {
    constexpr std::string_view word = "FILTER";
    value = postfix::trimmed(value);
    if (!smtp::same_ignoring_case(value.substr(0, value.find_first_of(" \t")), word)) return {};
    return postfix::trimmed(value.substr(word.size()));
}

} // namespace

AccessRules::AccessRules(Import& import) : import_(import) {
    for (auto& name : import.words(classes_setting)) classes_.insert(std::move(name));
}

bool AccessRules::only_as_rule(const Restriction& restriction) const {
    if (restriction.word == "warn_if_reject") {
        const auto what = inner(restriction);
        return is_class(what.word) || rule_like(what);
    }
    if (is_class(restriction.word)) return true;
    if (restriction.word == "reject_rbl_client" || restriction.word == "permit_dnswl_client") return false;
    const auto rule = rule_like(restriction);
    return rule && !covered_otherwise(rule->check) && rule->check != Check::reject && rule->check != Check::defer;
}

// --- one restriction

std::optional<std::string> AccessRules::rule_of(std::string_view setting, const Restriction& restriction,
                                                const Reporter& reporter) {
    if (restriction.word == "warn_if_reject") {
        auto rule = rule_of(setting, inner(restriction), reporter);
        if (rule) rule->insert(0, "warn_if_reject ");
        return rule;
    }
    if (is_class(restriction.word)) return smtp::lowered(restriction.word);
    const auto like = rule_like(restriction);
    if (!like) {
        reporter.missing(setting, restriction);
        return {};
    }
    constexpr std::string_view digest = "smtpd_tls_fingerprint_digest";
    if (like->subject == decide::access::Subject::certificate && import_.value(digest) != "sha256") {
        reporter.unguarded(
            setting, restriction.word + " " + restriction.more,
            fmt::format("its fingerprints of certificates are by {}: list those by SHA-256 (openssl x509 "
                        "-noout -fingerprint -sha256)",
                        import_.value(digest)));
        return {};
    }
    auto argument = std::optional(restriction.more);
    if (like->check == Check::policy_service)
        argument = reporter.policy_service(restriction.more);
    else if (like->check == Check::table)
        argument = table_of(setting, restriction.word, restriction.more, reporter);
    if (!argument) return {};
    const auto text = restriction.word + (argument->empty() ? "" : " " + *argument);
    if (const auto rule = Rule::parse(text); !rule) {
        reporter.unguarded(setting, text, rule.error().why);
        return {};
    }
    return text;
}

std::optional<std::string> AccessRules::table_of(std::string_view setting, const std::string& word,
                                                 const std::string& argument, const Reporter& reporter) {
    const auto known = tables_.find(argument);
    if (known != tables_.end()) return known->second;
    const auto table = converted_table(import_, setting, argument);
    if (import_.error) return {};
    if (!table) {
        reporter.unguarded(setting, word + " " + argument, "the table could not be converted");
        return {};
    }
    tables_.emplace(argument, *table);
    check_entries(setting, word, argument, reporter);
    return table;
}

// Results that would reject mail as a faulty configuration.
void AccessRules::check_entries(std::string_view setting, const std::string& word, const std::string& argument,
                                const Reporter& reporter) {
    std::string_view bare = argument;
    while (bare.starts_with("proxy:")) bare.remove_prefix(6);
    // The values of a chain's tables are keys, but for the last one's.
    if (const auto parts = postfix::tables_in(bare, postfix::OfChain::last); parts.front() != bare) {
        for (const auto& part : parts) check_entries(setting, word, part, reporter);
        return;
    }
    const auto type = bare.substr(0, bare.find(':'));
    if (type == "regexp" || type == "pcre" || type == "cidr") return check_filters(setting, word, argument, reporter);
    constexpr std::string_view readable[] = {"hash", "btree", "texthash", "dbm", "cdb", "sdbm", "inline"};
    if (std::ranges::find(readable, type) == std::end(readable)) return;
    const auto entries = table_entries(import_, setting, argument);
    std::size_t named = 0;
    for (const auto& entry : entries ? *entries : std::vector<postfix::Entry>{}) {
        if (const auto filter = value_of_filter(entry.value); !filter.empty()) {
            check_filter(setting, fmt::format("{} {}: {} {}", word, argument, entry.key, entry.value), filter,
                         reporter);
            continue;
        }
        const auto wrong = decide::access::wrong_result(
            entry.value, [this](std::string_view name) { return is_class(name); },
            [](std::string_view) { return true; });
        if (!wrong || !wrong->rejects || ++named > most_entries_named) continue;
        reporter.unguarded(setting, fmt::format("{} {}: {} {}", word, argument, entry.key, entry.value), wrong->why);
    }
}

// The tables stay as they are: what they say has to mean the same here.
void AccessRules::check_filter(std::string_view setting, const std::string& guard, std::string_view value,
                               const Reporter& reporter) {
    const auto filter = imported_filter(import_, value);
    if (!filter) return reporter.unguarded(setting, guard, filter.error());
    if (decide::filter_destination(value) != *filter)
        reporter.unguarded(setting, guard, fmt::format("write FILTER {} in the table", *filter));
}

// Of tables of patterns: where a line ends with FILTER and its destination.
void AccessRules::check_filters(std::string_view setting, const std::string& word, const std::string& argument,
                                const Reporter& reporter) {
    const auto lines = rule_lines(import_, setting, argument);
    std::size_t named = 0;
    for (const auto& line : lines ? *lines : std::vector<postfix::LogicalLine>{}) {
        const auto words = postfix::words_of(line.text);
        if (words.size() < 3 || !smtp::same_ignoring_case(words[words.size() - 2], "FILTER")) continue;
        if (++named <= most_entries_named)
            check_filter(setting, fmt::format("{} {} line {}", word, argument, line.line), words.back(), reporter);
    }
}

std::vector<std::string> AccessRules::rules_of(std::string_view setting, std::span<const Restriction> restrictions,
                                               const Reporter& reporter) {
    std::vector<std::string> rules;
    for (const auto& restriction : restrictions) {
        if (auto rule = rule_of(setting, restriction, reporter)) rules.push_back(*std::move(rule));
        const auto& word = restriction.word;
        if (word == "permit" || word == "reject" || word == "defer") break; // what follows is never reached
    }
    return rules;
}

// --- listeners and classes

void AccessRules::add(const Import::Listener& listener, const std::vector<List>& lists, const Reporter& reporter) {
    add_classes(reporter);
    if (import_.value(listener.values, "smtpd_relay_restrictions").empty())
        import_.add_remark("smtpd_recipient_restrictions",
                           "OK in a table before reject_unauth_destination permits relaying in Postfix, but not "
                           "here: list these clients in relay.networks");
    Section section;
    section.listeners = {listener.name};
    section.delay_reject = postfix::flag_of(import_.value(listener.values, "smtpd_delay_reject")).value_or(true);
    for (const auto& list : lists) {
        auto rules = rules_of(list.setting, list.restrictions, reporter);
        if (rules.empty()) continue;
        section.lists.emplace_back(list.key, std::move(rules));
        section.origin += (section.origin.empty() ? "" : ", ") + std::string(list.setting);
    }
    for (auto& other : sections_)
        if (other.lists == section.lists && other.delay_reject == section.delay_reject) {
            other.listeners.push_back(listener.name);
            return;
        }
    sections_.push_back(std::move(section));
}

// All of them: tables may have their names as results.
void AccessRules::add_classes(const Reporter& reporter) {
    if (classes_added_) return;
    classes_added_ = true;
    for (const auto& name : classes_) {
        if (!import_.given(name)) {
            reporter.unguarded(classes_setting, name, "the class is not defined");
            continue;
        }
        auto restrictions = postfix::restrictions_of(import_.value(name));
        if (!restrictions) return import_.fail(name, restrictions.error());
        if (left_out_) std::erase_if(*restrictions, left_out_);
        const auto as_rule = Rule::parse(name);
        if (!as_rule || as_rule->check != Check::rule_class)
            reporter.unguarded(classes_setting, name, "not a valid name of a class: choose another one");
        else
            class_rules_[as_rule->argument] = rules_of(name, *restrictions, reporter);
    }
}

void AccessRules::write(const std::function<bool(const std::string& listener)>& listens) {
    import_.mark_converted(classes_setting);
    import_.mark_converted("smtpd_delay_reject");
    std::size_t number = 0;
    const auto parents = import_.words("parent_domain_matches_subdomains");
    const bool parent_domains = std::ranges::find(parents, "smtpd_access_maps") != parents.end();
    for (auto& section : sections_) {
        std::erase_if(section.listeners, [&](const auto& name) { return !listens(name); });
        if (section.listeners.empty()) continue;
        const auto name = ++number == 1 ? std::string("access.postfix") : fmt::format("access.postfix_{}", number);
        import_.draft.set(name + ".listeners", toml(section.listeners), section.origin);
        if (!section.delay_reject) import_.draft.set(name + ".delay_reject", "false", "smtpd_delay_reject");
        if (!parent_domains) import_.draft.set(name + ".parent_domains", "false", "parent_domain_matches_subdomains");
        for (const auto& [key, rules] : section.lists) import_.draft.set(fmt::format("{}.{}", name, key), toml(rules));
    }
    if (number == 0) return;
    for (const auto& [name, rules] : class_rules_)
        import_.draft.set(fmt::format("access_class.{}.rules", name), toml(rules), classes_setting);
}

} // namespace postrider
