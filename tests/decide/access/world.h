// Tables and a DNS that exist only in a test, and what access rules make of a session with them.
#pragma once
#include "daemons/decide/access/evaluation.h"
#include <doctest/doctest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace decide::access {

// Answers of tables at once, all others when they were fetched, as in a process.
struct World final : Source {
    std::map<std::string, std::map<std::string, std::string>> tables;
    std::set<std::string> broken;                        // tables
    std::map<std::string, std::vector<std::string>> dns; // "a x.example", "mx x.example", "txt …", "ns …"
    std::set<std::string> dns_failures;                  // the same
    std::map<std::string, std::string> policies;         // actions
    std::map<std::string, Answer> verified;              // addresses; others are not known now
    std::set<Lookup> fetched, asked;
    bool slow_tables = false;

    static std::string query(const Lookup& lookup) {
        constexpr const char* types[] = {"", "a ", "mx ", "ns ", "txt ", "", ""};
        return types[static_cast<std::size_t>(lookup.kind)] + lookup.key;
    }
    Answer find(Lookup::Kind kind, std::string_view source, std::string_view key) override {
        const Lookup lookup{kind, std::string(source), std::string(key)};
        asked.insert(lookup);
        const bool table = lookup.kind == Lookup::Kind::table;
        if ((!table || slow_tables) && !fetched.contains(lookup)) return {Answer::Status::pending};
        if (table) {
            if (broken.contains(lookup.source)) return {Answer::Status::failed, {}, lookup.source + ": broken"};
            const auto& entries = tables[lookup.source];
            const auto found = entries.find(lookup.key);
            return found == entries.end() ? Answer{} : Answer{Answer::Status::found, {found->second}};
        }
        if (lookup.kind == Lookup::Kind::verification)
            return verified.contains(lookup.key) ? verified[lookup.key]
                                                 : Answer{.status = Answer::Status::found, .why = "in progress"};
        if (lookup.kind == Lookup::Kind::policy_service)
            return {Answer::Status::found, {policies.contains(lookup.source) ? policies[lookup.source] : "DUNNO"}};
        if (dns_failures.contains(query(lookup))) return {Answer::Status::failed, {}, "SERVFAIL"};
        const auto found = dns.find(query(lookup));
        return found == dns.end() ? Answer{} : Answer{Answer::Status::found, found->second};
    }
};

inline std::vector<Rule> rules_of(const std::vector<std::string>& texts) {
    std::vector<Rule> rules;
    for (const auto& text : texts) {
        auto rule = Rule::parse(text);
        REQUIRE_MESSAGE(rule, text << ": " << (rule ? "" : rule.error().why));
        rules.push_back(*std::move(rule));
    }
    return rules;
}

// A stranger's mail to one of our users.
inline Facts stranger() {
    Facts facts;
    facts.client_name = facts.reverse_name = "mail.far.example";
    facts.client_address = "192.0.2.25";
    facts.helo = "mail.far.example";
    facts.sender = "bob@far.example";
    facts.recipient = "ann@here.example";
    facts.recipient_ours = Facts::Ours::yes;
    return facts;
}

inline const std::vector<List> for_a_recipient = {List::client, List::helo, List::sender, List::relay, List::recipient};

inline Decision decide_by(const RuleSet& rules, const Facts& facts, World& world,
                          std::vector<List> lists = for_a_recipient,
                          Evaluation::Tracing tracing = Evaluation::Tracing::off) {
    Evaluation evaluation(rules, facts, std::move(lists), tracing);
    for (int rounds = 0; !evaluation.run(world); ++rounds) {
        REQUIRE(rounds < 100);
        REQUIRE(!evaluation.needed().empty());
        for (const auto& lookup : evaluation.needed()) world.fetched.insert(lookup);
    }
    return evaluation.take();
}

// "ok", or the reply's line; then "; hold: …" and so on.
inline std::string shown(const Decision& decision) {
    std::string out = decision.rejection ? decision.rejection->line() : "ok";
    for (const auto& note : decision.notes) out += "; " + note.verb + ": " + note.text;
    if (!decision.hold.empty()) out += "; held";
    if (!decision.discard.empty()) out += "; discarded";
    if (!decision.redirect.empty()) out += "; to " + decision.redirect;
    if (!decision.content_filter.empty()) out += "; through " + decision.content_filter;
    for (const auto& field : decision.fields) out += "; field " + field;
    for (const auto& copy : decision.copies) out += "; copy " + copy;
    for (const auto& warning : decision.warnings) out += "; warning: " + warning;
    return out;
}

} // namespace decide::access
