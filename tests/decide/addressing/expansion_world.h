// A small world for expansions: aliases, users, tables as maps; answers in short lines.
#pragma once
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/addressing/recipient_check.h"
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace expansion_tests {

using decide::AddressClass;
using Tables = decide::AddressTables;
using decide::AliasAnswer;
using decide::AliasTarget;
using decide::ResolvedRecipient;
using decide::TableAnswer;
using decide::UserAnswer;
using Kind = AliasTarget::Kind;
using Texts = std::vector<std::string>;

inline AliasTarget target_of(const std::string& text) {
    if (text.starts_with('|')) return {Kind::command, text.substr(1)};
    if (text.starts_with('\\')) return {Kind::user, text.substr(1)};
    if (text.starts_with('!')) return {Kind::wrong, text.substr(1)};
    if (text.starts_with(":include:")) return {Kind::include, text.substr(9)};
    if (text.starts_with('/') || text.starts_with('~')) return {Kind::file, text};
    return {Kind::address, text};
}

struct World {
    std::map<std::string, Texts> aliases, forwards, includes; // forwards by "user" or "user+extension"
    std::map<std::string, UserAnswer> users = {{"alice", UserAnswer::known},
                                               {"bob", UserAnswer::known},
                                               {"carol", UserAnswer::known},
                                               {"root", UserAnswer::known}};
    std::map<std::string, std::map<std::string, std::string>> tables; // by name and key
    std::map<std::string, std::string> suppressed, run_as;            // run_as: of an alias or an included file
    std::map<std::string, AddressClass> classes = {{"here.example", AddressClass::local},
                                                   {"localhost", AddressClass::local},
                                                   {"lists.example", AddressClass::virtual_alias},
                                                   {"boxes.example", AddressClass::virtual_mailbox},
                                                   {"inner.example", AddressClass::relay}};
    decide::DomainTables domain_tables;            // of further domains
    std::set<std::string> delivered_to;            // of the message
    std::set<std::string> unreadable, unknown_yet; // what is asked for by these names
    std::string routed;                            // a domain with a route
    decide::ExpansionSettings settings;
    std::string sender = "sender@far.example";
    std::size_t stage = 0; // steps at a time; 0: all at once

    World() {
        settings.class_of = [this](std::string_view domain, decide::Lookups& lookups) -> decide::ClassAnswer {
            const auto at = classes.find(std::string(domain));
            if (at != classes.end()) return at->second;
            decide::DomainClasses by_tables;
            by_tables.set_tables(domain_tables);
            return by_tables.find(
                domain, [&](const std::string& table, const std::string& key) { return lookups.table(table, key); });
        };
        settings.has_route = [this](std::string_view domain) { return domain == routed; };
        settings.origin = "here.example";
        settings.postmaster = "root";
        settings.default_user = "nobody";
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // One more table that is asked there, for the test to fill: table(&Tables::transport, "text:/t").
    std::map<std::string, std::string>& table(Texts Tables::* where, const std::string& name) {
        (settings.tables.*where).push_back(name);
        return tables[name];
    }

    AliasAnswer list(const std::map<std::string, Texts>& from, const std::string& name) const {
        if (unreadable.contains(name)) return {AliasAnswer::Status::unreadable, {}, name + ": Permission denied", ""};
        if (unknown_yet.contains(name)) return {AliasAnswer::Status::not_yet, {}, "", ""};
        const auto found = from.find(name);
        if (found == from.end()) return {};
        AliasAnswer out{AliasAnswer::Status::found, {}, "", ""};
        if (const auto at = run_as.find(name); at != run_as.end()) out.run_as = at->second;
        for (const auto& target : found->second) out.targets.push_back(target_of(target));
        return out;
    }
    TableAnswer value(const std::map<std::string, std::string>& from, const std::string& key) const {
        if (unreadable.contains(key)) return {TableAnswer::Status::unreadable, "", key + ": Permission denied"};
        if (unknown_yet.contains(key)) return {TableAnswer::Status::not_yet, "", ""};
        const auto found = from.find(key);
        return found == from.end() ? TableAnswer{} : TableAnswer{TableAnswer::Status::found, found->second, ""};
    }
    decide::ExpansionTables ask() const {
        decide::ExpansionTables out;
        out.alias = [this](const std::string& name) { return list(aliases, name); };
        out.user = [this](const std::string& name) {
            if (unknown_yet.contains(name)) return UserAnswer::not_yet;
            const auto found = users.find(name);
            return found == users.end() ? UserAnswer::unknown : found->second;
        };
        out.forward = [this](const std::string& user, const std::string& extension) {
            const auto whole = list(forwards, user + "+" + extension);
            return extension.empty() || whole.status == AliasAnswer::Status::none ? list(forwards, user) : whole;
        };
        out.include = [this](const std::string& path, const std::string& user) {
            return list(includes, user.empty() ? path : user + ":" + path);
        };
        out.table = [this](const std::string& table, const std::string& key) -> TableAnswer {
            if (unreadable.contains(table)) return {TableAnswer::Status::unreadable, "", table + ": no such file"};
            const auto at = tables.find(table);
            if (at == tables.end()) return {};
            return value(at->second, table.starts_with("regexp:") ? key : smtp::lowered(key));
        };
        out.delivered_before = [this](const std::string& address) -> TableAnswer {
            if (unreadable.contains(address)) return {TableAnswer::Status::unreadable, "", "the spool: I/O error"};
            return {delivered_to.contains(address) ? TableAnswer::Status::found : TableAnswer::Status::none, "", ""};
        };
        out.suppressed = [this](const std::string& address) { return value(suppressed, address); };
        return out;
    }
    decide::ExpansionResult expanded(const Texts& to) const {
        std::vector<decide::UnresolvedRecipient> envelope;
        for (const auto& address : to) envelope.push_back({static_cast<std::uint32_t>(envelope.size()), address});
        if (stage == 0) return decide::expand(envelope, sender, settings, ask());
        decide::Expansion expansion(envelope, sender, settings, ask());
        while (!expansion.run(stage)) {
        }
        return expansion.take_result();
    }
    // "0:local alice", "0:remote x@y by [hop]:25 via owner-l@here.example", "1:failed 5.1.1", in order.
    static std::string shown(const ResolvedRecipient& r) {
        constexpr std::string_view fates[] = {"deferred", "remote", "local", "discard", "failed"};
        auto out = fmt::format("{}:{}", r.origin, fates[static_cast<int>(r.fate)]);
        if (!r.user.empty()) out += " " + r.user;
        if (!r.target.empty()) out += " " + r.target;
        if (r.changed && (r.user.empty() || r.fate == spool::Fate::remote)) out += " " + r.address;
        if (!r.status.empty()) out += " " + r.status;
        if (!r.transport.empty()) out += " by " + r.transport;
        if (!r.reverse_path.empty()) out += (r.list ? " via " : " from ") + r.reverse_path;
        return out;
    }
    std::string expand(const Texts& to) const {
        const auto got = expanded(to);
        std::string out;
        for (const auto& need : got.unanswered)
            out += "needs " + need.name + (need.key.empty() ? "" : " " + need.key) + " ";
        for (const auto& r : got.recipients) out += (out.empty() ? "" : "; ") + shown(r);
        return out;
    }
    std::string why(const Texts& to) const { return expanded(to).recipients.at(0).text; }
    std::string check(std::string_view address) const {
        constexpr std::string_view verdicts[] = {"known", "unknown", "not ours", "try later", "not yet"};
        const auto got = decide::check_recipient(address, settings, ask());
        std::string out(verdicts[static_cast<int>(got.verdict)]);
        if (!got.status.empty()) out += " " + got.status + " " + got.text;
        return out;
    }
};

} // namespace expansion_tests
