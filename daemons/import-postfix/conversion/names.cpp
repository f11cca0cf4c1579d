// The system's names and the domains it accepts mail for: names, classes of domains, networks.
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/format/rules.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/networks.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>

namespace postrider {

namespace {

// Ours has a dot.
std::string completed(const std::string& name) {
    return name.find('.') == name.npos && name != "localhost" ? name + ".localdomain" : name;
}

void names(Import& import) {
    const auto hostname = import.value("myhostname");
    if (const auto name = config::domain_name(hostname); !name.empty() && name.find('.') != name.npos)
        import.set("mta.hostname", toml(hostname), "myhostname");
    else
        import.mark_unsupported("myhostname", fmt::format("\"{}\" is not a fully qualified host name", hostname));
    import.mark_converted("mydomain");
    auto origin = import.value("myorigin");
    if (origin == "/etc/mailname" && !import.environment.exists(origin)) // ours by default, once it is there
        return import.add_remark("myorigin",
                                 "/etc/mailname does not exist: mta.origin is its content once it exists, until then "
                                 "the host name");
    if (origin.starts_with('/')) { // the first line of that file
        const auto text = import.file("myorigin", origin);
        origin = postfix::trimmed(std::string_view(text).substr(0, text.find('\n')));
    }
    if (const auto name = config::domain_name(origin); !name.empty())
        import.set("mta.origin", toml(completed(name)), "myorigin");
    else if (!import.error)
        import.mark_unsupported("myorigin", fmt::format("\"{}\" is not a valid domain", origin));
}

// The type of a table: "mysql" of "proxy:mysql:/d". "" it is none.
std::string type_of_table(std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    const auto table = postfix::parse_typed(word);
    return table ? table->type : "";
}

// Networks, users and groups.
bool has_no_domains(std::string_view type) { return type == "cidr" || type == "unix"; }

// Would a list take what its word `exception` ("!x.example") keeps out? Whatever the order: files come at the end.
bool takes_otherwise(const std::vector<std::string>& words, std::string_view exception, bool below) {
    exception.remove_prefix(1);
    const auto name_of = [](std::string_view word) {
        return config::domain_name(word.starts_with('.') ? word.substr(1) : word);
    };
    const auto out = name_of(exception);
    return std::ranges::any_of(words, [&](const auto& word) {
        if (word.starts_with('!') || has_no_domains(type_of_table(word))) return false;
        const auto in = name_of(word);
        return in.empty() || out.empty() || in == out || (below && out.ends_with("." + in)); // or one is not known
    });
}

// Tables of domains whose keys are known now, as far as they can be read: not those of databases and services.
class KnownTables {
public:
    // Returns those of its tables that cannot be read here.
    std::vector<std::string> add(Import& import, std::string_view name, std::string_view word,
                                 const std::string& section) {
        std::vector<std::string> unread;
        for (const auto& table : postfix::tables_in(word))
            if (auto known = contents_of(import, name, table))
                tables_.push_back({section, *std::move(known)});
            else if (!has_no_domains(type_of_table(table)))
                unread.push_back(table);
        return unread;
    }
    // The section whose tables have the domain; "": none of those that are known. ".b.example": what is below it, which
    // only a pattern may have.
    std::string section_of(const std::string& domain) const {
        const bool below = domain.starts_with('.');
        for (const auto& each : tables_)
            if ((!below || each.contents.patterns) &&
                each.contents.table->find(below ? "x" + domain : domain).status == tables::Answer::Status::found)
                return each.section;
        return "";
    }

private:
    struct Contents {
        std::unique_ptr<const tables::TableContents> table;
        bool patterns = false;
    };
    static std::optional<Contents> contents_of(Import& import, std::string_view name, const std::string& word) {
        std::string text;
        if (const auto lines = rule_lines(import, name, word)) {
            for (const auto& line : *lines) text += line.text + "\n";
            return Contents{tables::RuleTable::read_regexp(text), true};
        }
        const auto table = postfix::parse_typed(word);
        if (!table) return {};
        if (table->type == "static") return Contents{tables::RuleTable::read_regexp("/^/ x\n"), true};
        if (!is_text(word) || (table->type == "lmdb" && !import.environment.exists(import.resolved_path(table->name))))
            return {};
        const auto entries = table_entries(import, name, word);
        for (const auto& entry : entries ? *entries : std::vector<postfix::Entry>{}) text += entry.key + " x\n";
        return Contents{tables::TextTable::read(text), false};
    }
    static bool is_text(std::string_view word) {
        constexpr std::string_view types[] = {"hash", "lmdb", "texthash", "btree", "dbm", "cdb", "sdbm", "inline"};
        return std::ranges::find(types, type_of_table(word)) != std::end(types);
    }
    struct Known {
        std::string section;
        Contents contents;
    };
    std::vector<Known> tables_;
};

// Domains of one class, and tables of them; a domain that is in an earlier one already stays there, as Postfix has it.
class Classes {
public:
    explicit Classes(Import& import) : import_(import) {}

    void take(std::string_view name, const std::string& section, const std::vector<std::string>& words, bool below) {
        const auto key = section + ".domains";
        std::vector<std::string> out, tables, of_this_class;
        for (const auto& word : words) {
            if (word.starts_with('!')) {
                if (takes_otherwise(words, word, below))
                    import_.mark_unguarded(name, word,
                                           "exceptions have no counterpart: mail is taken as for the rest of the list; "
                                           "take these domains out of the other entries and tables");
                else
                    import_.add_remark(name, fmt::format("\"{}\": exceptions have no counterpart; omitted", word));
                continue;
            }
            if (postfix::parse_typed(word)) {
                if (auto table = table_of(name, section, word)) tables.push_back(*std::move(table));
                if (type_of_table(word) != "cidr") of_this_class.emplace_back(word);
                continue;
            }
            if (word.starts_with('/')) { // unread: whose mail is taken, check will ask
                out.push_back(word), refused_.insert(section);
                import_.mark_unsupported(
                    name,
                    fmt::format("{} cannot be read here: list its domains in {}, where it was copied unchanged and "
                                "postrider check rejects it until then",
                                word, key),
                    IfLost::harmless);
                continue;
            }
            if (word.find('@') != word.npos) continue; // an address
            const bool under = word.starts_with('.');
            const auto domain = config::domain_name(std::string_view(word).substr(under ? 1 : 0));
            if (domain.empty() || (under && !below)) {
                import_.add_remark(name, fmt::format("\"{}\" is not a valid domain; omitted", word));
                continue;
            }
            if (!under) add(name, key, domain, out);
            if (below) add(name, key, "." + domain, out);
        }
        if (!out.empty() || section == "local") import_.set(key, toml(out), name);
        if (!tables.empty()) import_.set(section + ".domain_tables", toml(without_duplicates(tables)), name);
        if (!tables.empty() && below) import_.set(section + ".parent_domains", "true", name);
        if (std::ranges::any_of(out, [](const auto& word) { return !word.starts_with('.') && !word.starts_with('/'); }))
            compare_with_unread(name, section);
        for (const auto& word : of_this_class)
            for (auto& table : known_.add(import_, name, word, section))
                unread_.push_back({section, std::string(name), std::move(table)});
        import_.mark_converted(name);
    }

    // Is there something in this section that check will refuse?
    bool refused(const std::string& section) const { return refused_.contains(section); }

private:
    // As it is called here. One that has no counterpart stays as it is, for check to refuse: without it, mail would be
    // rejected, or returned.
    std::optional<std::string> table_of(std::string_view name, const std::string& section, std::string_view word) {
        const auto type = type_of_table(word);
        if (has_no_domains(type)) {
            import_.add_remark(name, fmt::format("{}: {} match no domain; omitted", word,
                                                 type == "cidr" ? "networks" : "users of this system"));
            return {};
        }
        while (word.starts_with("proxy:")) word.remove_prefix(6);
        auto table = type == "nis" ? std::nullopt : converted_table(import_, name, word);
        if (import_.error) return {};
        const bool stays = !table;
        if (stays) table = std::string(word);
        const bool is_valid = tables::Specification::parse(*table).has_value();
        if (!is_valid) refused_.insert(section);
        if (!stays) return table;
        if (is_valid) { // as something else
            import_.mark_unguarded(name, word, "the table could not be converted");
            return {};
        }
        import_.mark_unsupported(name,
                                 fmt::format("{}: it was copied unchanged to {}.domain_tables, and postrider check "
                                             "rejects it until it is replaced or removed",
                                             word, section),
                                 IfLost::harmless);
        return table;
    }

    // A table of an earlier class that cannot be read here, such as a database, may have a domain that this class
    // names.
    void compare_with_unread(std::string_view name, const std::string& section) {
        const auto transport = import_.value("virtual_transport"); // virtual(8) has no mailboxes without maps
        const bool refused =
            (transport == "virtual" || transport == "virtual:") && import_.value("transport_maps").empty();
        const bool takes_all =
            (section == "relay" && import_.value("relay_recipient_maps").empty()) ||
            (section == "virtual_mailbox" && import_.value("virtual_mailbox_maps").empty() && !refused);
        for (const auto& each : unread_) {
            if (!import_.given(name)) continue;
            const auto why = fmt::format("a domain of this list that {} has as well is one of {} in Postfix, and of {} "
                                         "here, where names decide before tables: list it in one of them only",
                                         each.table, each.setting, name);
            // Aliases whose keys are domains are rare, where virtual_alias_domains is not set.
            const bool knows_all = each.section == "virtual_mailbox" ? !import_.value("virtual_mailbox_maps").empty()
                                                                     : import_.given(each.setting);
            if (takes_all && knows_all)
                import_.mark_unguarded(name, each.table, why + "; mail for its unknown recipients is taken until then");
            else
                import_.add_remark(name, why);
        }
    }

    // Here names decide before tables do; in Postfix the first class that has the domain in either.
    void add(std::string_view name, const std::string& key, const std::string& domain, std::vector<std::string>& out) {
        if (const auto earlier = known_.section_of(domain); !earlier.empty())
            return import_.add_remark(
                name, fmt::format("{} is already in {}.domain_tables and remains there", domain, earlier));
        const auto [found, fresh] = seen_.emplace(domain, key);
        if (fresh)
            out.push_back(domain);
        else if (found->second != key && !domain.starts_with('.') && import_.given(name))
            import_.add_remark(name, fmt::format("{} is already in {} and remains there", domain, found->second));
    }

    Import& import_;
    std::map<std::string, std::string, std::less<>> seen_;
    struct Unread {
        std::string section, setting, table;
    };
    KnownTables known_;             // of earlier classes
    std::vector<Unread> unread_;    // the others
    std::set<std::string> refused_; // sections
};

// Of a type that can have domains here as there.
bool can_have_domains(std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    const auto table = postfix::parse_typed(word);
    constexpr std::string_view types[] = {"hash",   "lmdb",      "texthash", "btree",    "dbm",    "cdb",   "sdbm",
                                          "regexp", "pcre",      "inline",   "static",   "sqlite", "mysql", "pgsql",
                                          "ldap",   "socketmap", "tcp",      "unionmap", "pipemap"};
    return table && std::ranges::find(types, table->type) != std::end(types);
}

void domains(Import& import) {
    Classes classes(import);
    auto here = list_with_tables(import, "mydestination");
    // An origin without a dot has got one: it is still what it was.
    const auto* origin = import.draft.find("mta.origin");
    const auto same = [&](const auto& word) { return origin && toml(completed(word)) == origin->value; };
    if (const auto found = std::ranges::find_if(here, same); found != here.end()) here.push_back(completed(*found));
    classes.take("mydestination", "local", here, false);
    // Without virtual_alias_domains, they are the keys of the tables of addresses that are just a domain. Remarks are
    // about these.
    auto aliases = list_with_tables(import, "virtual_alias_domains");
    if (!import.given("virtual_alias_domains"))
        std::erase_if(aliases, [](const auto& word) { return !can_have_domains(word); });
    classes.take("virtual_alias_domains", "virtual_alias", aliases, false);
    classes.take("virtual_mailbox_domains", "virtual_mailbox", list_with_tables(import, "virtual_mailbox_domains"),
                 false);
    const auto parents = import.words("parent_domain_matches_subdomains");
    classes.take("relay_domains", "relay", list_with_tables(import, "relay_domains"),
                 std::ranges::find(parents, "relay_domains") != parents.end());
    import.mark_converted("parent_domain_matches_subdomains");
    const bool has_aliases =
        import.draft.find("virtual_alias.domains") || import.draft.find("virtual_alias.domain_tables");
    if (has_aliases && !classes.refused("virtual_alias") && !import.draft.find("virtual_alias.tables") &&
        !import.error) {
        import.draft.remove("virtual_alias.domains");
        import.draft.remove("virtual_alias.domain_tables");
        import.mark_unsupported("virtual_alias_domains", "there is no table of their addresses that can be "
                                                         "imported: list one in virtual_alias.tables");
    }
}

void networks(Import& import) {
    std::vector<std::string> out;
    if (!import.given("mynetworks")) {
        out = own_networks(import);
    } else {
        for (const auto& word : expanded_list(import, "mynetworks")) {
            if (common::Network::parse(word))
                out.push_back(word);
            else if (word.starts_with('!')) // left out, it would open the way to those it keeps out
                out.push_back(word),
                    import.mark_unsupported(
                        "mynetworks",
                        fmt::format("\"{}\": exceptions have no counterpart: list the networks around it; postrider "
                                    "check refuses it until then",
                                    word),
                        IfLost::harmless);
            else if (postfix::parse_typed(word) || word.starts_with('/'))
                out.push_back(word),
                    import.mark_unsupported("mynetworks",
                                            fmt::format("{} cannot be read here: list its networks in relay.networks, "
                                                        "where postrider check rejects it until then",
                                                        word),
                                            IfLost::harmless);
            else
                import.mark_unsupported("mynetworks", fmt::format("\"{}\" is not a numeric network", word),
                                        IfLost::harmless); // fewer may relay
        }
    }
    import.set("relay.networks", toml(without_duplicates(out)),
               import.given("mynetworks") || !import.given("mynetworks_style") ? "mynetworks" : "mynetworks_style");
    import.mark_converted("mynetworks");
    import.mark_converted("mynetworks_style");
}

} // namespace

void import_names(Import& import) {
    names(import);
    domains(import);
    networks(import);
    import.mark_converted("virtual_alias_domains"), import.mark_converted("virtual_mailbox_domains");
    const auto delimiter = import.value("recipient_delimiter");
    if (delimiter.size() > 1)
        import.add_remark("recipient_delimiter", fmt::format("only \"{}\", the first one", delimiter.front()));
    import.set("local.recipient_delimiter", toml(delimiter.substr(0, 1)), "recipient_delimiter");
}

} // namespace postrider
