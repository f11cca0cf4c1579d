// The system's names and the domains it accepts mail for: names, classes of domains, networks.
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/import-postfix/conversion/import.h"
#include "daemons/import-postfix/conversion/networks.h"
#include "daemons/import-postfix/conversion/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

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
        import.set("mta.origin",
                   toml(name.find('.') == name.npos && name != "localhost" ? name + ".localdomain" : name), "myorigin");
    else if (!import.error)
        import.mark_unsupported("myorigin", fmt::format("\"{}\" is not a valid domain", origin));
}

// Domains of one class, and tables of them; a domain that is in an earlier one already stays there, as Postfix has it.
class Classes {
public:
    explicit Classes(Import& import) : import_(import) {}

    void take(std::string_view name, const std::string& section, const std::vector<std::string>& words, bool below) {
        const auto key = section + ".domains";
        std::vector<std::string> out, tables;
        for (const auto& word : words) {
            if (word.starts_with('!')) {
                import_.add_remark(name, fmt::format("\"{}\": exceptions have no counterpart; omitted", word));
                continue;
            }
            if (postfix::parse_typed(word)) {
                if (auto table = table_of(name, word)) tables.push_back(*std::move(table));
                continue;
            }
            if (word.starts_with('/')) { // unread: whose mail is taken, check will ask
                out.push_back(word);
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
        import_.mark_converted(name);
    }

private:
    std::optional<std::string> table_of(std::string_view name, const std::string& word) {
        auto table = converted_table(import_, name, word);
        if (!table || !table->starts_with("cidr:")) return table;
        import_.add_remark(name, fmt::format("{}: networks match no domain; omitted", word));
        return {};
    }

    void add(std::string_view name, const std::string& key, const std::string& domain, std::vector<std::string>& out) {
        const auto [found, fresh] = seen_.emplace(domain, key);
        if (fresh)
            out.push_back(domain);
        else if (found->second != key && !domain.starts_with('.') && import_.given(name))
            import_.add_remark(name, fmt::format("{} is already in {} and remains there", domain, found->second));
    }

    Import& import_;
    std::map<std::string, std::string, std::less<>> seen_;
};

// Of a type that can have domains here as there.
bool can_have_domains(std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    const auto table = postfix::parse_typed(word);
    constexpr std::string_view types[] = {"hash",  "lmdb",   "texthash", "btree",     "dbm",    "cdb",
                                          "sdbm",  "regexp", "pcre",     "inline",    "static", "sqlite",
                                          "mysql", "pgsql",  "ldap",     "socketmap", "tcp"};
    return table && std::ranges::find(types, table->type) != std::end(types);
}

void domains(Import& import) {
    Classes classes(import);
    classes.take("mydestination", "local", list_with_tables(import, "mydestination"), false);
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
    if (has_aliases && !import.draft.find("virtual_alias.tables") && !import.error) {
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
