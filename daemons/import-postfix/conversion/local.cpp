// Users of this system: where their mail goes, their aliases, what may be run.
#include "daemons/common/lookup/aliases/alias_file.h"
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/final_transports.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include "daemons/import-postfix/transports/smtp_transports.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace postrider {

namespace {

std::string_view without_proxy(std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    return word;
}

bool is_alias_file(std::string_view table) {
    const auto what = postfix::parse_typed(table);
    return what && (what->type == "hash" || what->type == "texthash" || what->type == "btree" || what->type == "lmdb" ||
                    what->type == "cdb" || what->type == "dbm");
}

bool is_passwd(std::string_view word) { return without_proxy(word) == "unix:passwd.byname"; }

bool is_alias_table(Import& import, std::string_view word) {
    return std::ranges::any_of(tables_of(import, "alias_maps"),
                               [&](const auto& each) { return without_proxy(each) == without_proxy(word); });
}

// Users of this system, and aliases: those are known without being listed. A list without users of this system is
// another one: their addresses would be accepted.
bool is_usual_recipients(Import& import) {
    bool users = false;
    for (const auto& word : tables_of(import, "local_recipient_maps")) {
        const bool passwd = is_passwd(word);
        users = users || passwd;
        if (!passwd && !is_alias_table(import, word)) return false;
    }
    return users;
}

// Its server gets what local(8) would; without a list of users, or with one of the site's own, they are its users.
void deliver_all_by(Import& import, const std::string& hop) {
    constexpr std::string_view name = "local_transport";
    constexpr std::string_view known =
        "aliases and users of this system are looked up first, and users that only the server knows are rejected: list "
        "the domains in virtual_mailbox.domains, instead of local.domains, if it has such";
    if (!import.value("mailbox_transport").empty())
        import.add_remark("mailbox_transport", "unused: local_transport names another server for all local mail");
    import.set("local.deliver", toml(hop), name);
    if (is_usual_recipients(import))
        import.add_remark(name, std::string(known));
    else
        import.mark_unsupported(name, std::string(known), IfLost::unguarded);
}

// Names to which aliases lead that are neither aliases nor users of this system. Nothing: they are not known.
class NamesBehindAliases {
public:
    explicit NamesBehindAliases(Import& import) : import_(import) {}

    void find() {
        for (const auto& word : tables_of(import_, "alias_maps")) {
            const auto what = postfix::parse_typed(word);
            if (!what || what->type == "nis" || what->type == "unix") continue;
            if (!is_alias_file(word)) {
                unread_.push_back(word);
                continue;
            }
            const auto path = import_.resolved_path(what->name);
            if (!import_.environment.exists(path)) continue;
            auto table = common::AliasTable::parse(import_.file("alias_maps", path));
            for (auto& [name, targets] : table.entries) {
                aliases_.insert(name);
                for (auto& target : targets) add(std::move(target));
            }
        }
    }
    std::vector<std::string> unknown() const {
        std::vector<std::string> out;
        const auto delimiters = import_.value("recipient_delimiter");
        for (const auto& name : names_) {
            const auto plain = name.substr(0, delimiters.empty() ? name.npos : name.find_first_of(delimiters, 1));
            const auto known = [&](const auto& each) {
                return each == "postmaster" || aliases_.contains(each) || import_.environment.is_user(each);
            };
            if (!known(name) && !known(plain)) out.push_back(name);
        }
        return out;
    }
    const std::vector<std::string>& unread() const { return unread_; }

private:
    void add(decide::AliasTarget target) {
        using Kind = decide::AliasTarget::Kind;
        if (target.kind == Kind::include) {
            const auto path = import_.resolved_path(target.value);
            if (!import_.environment.exists(path)) return;
            const auto text = import_.environment.read(path);
            if (!text) return unread_.push_back(":include:" + path);
            for (auto& each : common::TargetList::parse(*text).targets)
                if (each.kind != Kind::include) add(std::move(each));
        }
        if (target.kind != Kind::address && target.kind != Kind::user) return;
        const auto at = target.value.rfind('@');
        const auto domain = at == target.value.npos ? "" : smtp::lowered(target.value.substr(at + 1));
        if (!domain.empty() && !is_ours(domain)) return;
        auto name = smtp::lowered(target.value.substr(0, at));
        std::erase(name, '"');
        if (!name.empty()) names_.insert(std::move(name));
    }
    bool is_ours(const std::string& domain) const {
        const auto* listed = import_.draft.find("local.domains");
        return (listed && listed->value.contains("\"" + domain + "\"")) || domain == "localhost" ||
               domain == smtp::lowered(import_.value("myhostname"));
    }

    Import& import_;
    std::set<std::string, std::less<>> aliases_, names_;
    std::vector<std::string> unread_; // tables
};

// Postfix gives its server the mail for all names. Here those must be users: accepted for an alias, mail for such a
// name would be returned.
void compare_with_aliases(Import& import) {
    constexpr std::string_view name = "mailbox_transport";
    constexpr std::string_view advice = "is returned after it was accepted. If that server has such names, list the "
                                        "domains in virtual_mailbox.domains, instead of local.domains, or make each "
                                        "of them an alias to an address of theirs";
    NamesBehindAliases names(import);
    names.find();
    auto unknown = names.unknown();
    const auto count = unknown.size();
    unknown.resize(std::min(count, std::size_t(20)));
    if (count > 0)
        import.mark_unguarded(name, "aliases to users that only its server may know",
                              fmt::format("{}{}: they are neither aliases nor users of this system, and mail for them "
                                          "{}",
                                          fmt::join(unknown, ", "), count > 20 ? ", …" : "", advice));
    for (const auto& table : names.unread())
        import.mark_unguarded(
            name, table,
            fmt::format("it cannot be read here; mail that it leads to a name that is neither an alias "
                        "nor a user of this system {}",
                        advice));
}

void mailboxes(Import& import) {
    if (const auto home = import.value("home_mailbox"); !home.empty())
        import.set("local.mailbox",
                   toml(home.ends_with('/') ? fmt::format("maildir:{{home}}/{}", home.substr(0, home.size() - 1))
                                            : fmt::format("mbox:{{home}}/{}", home)),
                   "home_mailbox");
    else if (const auto spool = import.value("mail_spool_directory");
             !spool.empty() && import.given("mail_spool_directory"))
        import.set("local.mailbox",
                   toml(spool.ends_with('/') ? fmt::format("maildir:{}{{user}}", spool)
                                             : fmt::format("mbox:{}/{{user}}", spool)),
                   "mail_spool_directory");
    import.mark_converted("home_mailbox"), import.mark_converted("mail_spool_directory");

    if (const auto transport = import.value("mailbox_transport"); !transport.empty()) {
        const auto hop = next_hop_of_transport(import, transport);
        if (hop.starts_with("lmtp:")) {
            import.set("local.deliver", toml(hop), "mailbox_transport");
            compare_with_aliases(import);
        } else {
            import.mark_unsupported(
                "mailbox_transport",
                fmt::format("\"{}\": only lmtp has a counterpart: deliver to an LMTP server (local.deliver), or mail "
                            "gets to the mailboxes of this system",
                            transport),
                IfLost::unguarded);
        }
    }
    if (const auto relay = import.value("luser_relay"); !relay.empty()) {
        const bool plain = relay.find('$') == relay.npos && relay.find_first_of("|/ ,") == relay.npos;
        if (plain && smtp::Mailbox::parse_bare_allowed(relay))
            import.set("local.catch_all", toml(relay), "luser_relay");
        else if (plain) // "local:ann": not a transport, but the name of a user who does not exist
            import.mark_unsupported(
                "luser_relay", fmt::format("\"{}\" is neither a user nor an address, and Postfix returns such mail: "
                                           "name one in local.catch_all",
                                           relay));
        else
            import.mark_unsupported("luser_relay", "only a plain address or user has a counterpart: local.catch_all");
    }
    if (const auto transport = import.value("local_transport");
        import.given("local_transport") && !transport.starts_with("local")) {
        const auto hop = next_hop_of_transport(import, transport);
        if (is_in_final_transports(import, "local_transport")) {
            import.mark_converted("local_transport");
        } else if (hop.starts_with("lmtp:")) {
            deliver_all_by(import, hop);
        } else {
            import.mark_unsupported("local_transport",
                                    fmt::format("\"{}\": mail for local.domains goes to users of this system. Name "
                                                "the domains in relay.domains and give them a [route]",
                                                transport)); // to others, perhaps: never in silence
        }
    } else {
        import.mark_converted("local_transport");
    }
}

// "$home/.forward${recipient_delimiter}${extension}" with our words in braces.
void forward_files(Import& import) {
    if (!import.given("forward_path")) return;
    std::vector<std::string> out;
    const auto delimiter = import.value("recipient_delimiter").substr(0, 1);
    for (auto path : postfix::words_of(import.value("forward_path"))) {
        for (const auto& [theirs, ours] : {std::pair<std::string_view, std::string>{"home", "{home}"},
                                           {"user", "{user}"},
                                           {"extension", "{extension}"},
                                           {"recipient_delimiter", delimiter}})
            for (const auto& form :
                 {fmt::format("${{{}}}", theirs), fmt::format("$({})", theirs), fmt::format("${}", theirs)})
                for (auto at = path.find(form); at != path.npos; at = path.find(form, at + ours.size()))
                    path.replace(at, form.size(), ours);
        if (path.find('$') != path.npos)
            import.mark_unsupported(
                "forward_path",
                fmt::format("\"{}\": only $home, $user, $extension and $recipient_delimiter are substituted", path));
        else
            out.push_back(std::move(path));
    }
    import.set("local.forward", toml(out), "forward_path");
}

// What delivers in Postfix to recipients who are no users of this system; here it gets mail of users only. "" nothing.
std::string_view way_without_user(Import& import) {
    for (const std::string_view name :
         {"mailbox_transport", "mailbox_transport_maps", "fallback_transport", "fallback_transport_maps"}) {
        const bool of_local = std::ranges::any_of(import.services, [&](const auto& each) {
            return each.command == "local" && !each.own(name).value_or("").empty();
        });
        if (of_local || !import.value(name).empty()) return name;
    }
    const auto transport = import.value("local_transport");
    return transport.starts_with("local") || keeps_mail_from_leaving(transport) ? "" : "local_transport";
}

// The keys of a chain's tables are the values of others: an alias file's would not be found.
std::optional<std::string> table_of(Import& import, std::string_view name, const std::string& word) {
    const auto within = postfix::tables_in(word, postfix::OfChain::all);
    if (within.front() == word || std::ranges::none_of(within, [&](const auto& table) {
            return is_alias_file(table) && (name == "alias_maps" || is_alias_table(import, table));
        }))
        return converted_table(import, name, word);
    import.mark_unsupported(name,
                            fmt::format("{}: alias files cannot be parts of a chain. It was copied unchanged, and "
                                        "postrider check rejects it until it is replaced or removed",
                                        word),
                            IfLost::harmless);
    return word;
}

// A list of the site's own: users, aliases, and tables.
void listed_recipients(Import& import) {
    constexpr std::string_view name = "local_recipient_maps";
    bool users = false, some_aliases = false;
    std::vector<std::string> tables;
    for (const auto& word : tables_of(import, name))
        if (is_passwd(word))
            users = true;
        else if (is_alias_table(import, word))
            some_aliases = true;
        else if (auto table = table_of(import, name, word))
            tables.push_back(*std::move(table));
    std::vector<std::string> known;
    if (users) known.emplace_back("users");
    if (some_aliases) known.emplace_back("aliases");
    if (known.size() < 2) import.set("local.known_recipients", toml(known), name);
    if (!tables.empty()) import.set("local.recipients", toml(tables), name);
}

// Accepted for its recipients, mail would be returned by delivery: to senders who are mostly forged.
bool would_be_returned(Import& import) {
    constexpr std::string_view name = "local_recipient_maps";
    const bool lists_others = std::ranges::any_of(
        tables_of(import, name), [&](const auto& word) { return !is_passwd(word) && !is_alias_table(import, word); });
    const auto way = way_without_user(import);
    if (way.empty() || (!lists_others && !import.value(name).empty())) return false;
    import.mark_unsupported(
        name,
        fmt::format(
            "{} is only for aliases and users of this system here: mail for others {}, whatever this list says. "
            "List domains of which the server knows the users in virtual_mailbox.domains, instead of "
            "local.domains",
            way, import.draft.find("local.catch_all") ? "goes to local.catch_all" : "is rejected"),
        IfLost::unguarded);
    return true;
}

// Of local.domains only: Postfix checks recipients of other classes whatever this list says.
void local_recipients(Import& import) {
    if (is_usual_recipients(import) && import.draft.find("local.catch_all"))
        import.add_remark("luser_relay", "unknown users are not rejected at RCPT, as local_recipient_maps has Postfix "
                                         "do it: local.catch_all gets their mail");
    if (!import.given("local_recipient_maps")) return;
    import.mark_converted("local_recipient_maps");
    if (would_be_returned(import)) return;
    if (import.value("local_recipient_maps").empty())
        import.set("local.check_recipients", "false", "local_recipient_maps");
    else if (!is_usual_recipients(import))
        listed_recipients(import);
}

void aliases(Import& import) {
    std::vector<std::string> files, tables;
    const auto words = tables_of(import, "alias_maps");
    if (words.size() > import.words("alias_maps").size())
        import.add_remark("alias_maps",
                          "of an alias that several tables of a unionmap have, mail goes to the recipients "
                          "of the first one only");
    for (const auto& word : words) {
        const auto what = postfix::parse_typed(word);
        if (what && (what->type == "nis" || what->type == "unix")) {
            if (import.given("alias_maps"))
                import.mark_unsupported("alias_maps", fmt::format("{}: NIS has no counterpart", word));
        } else if (is_alias_file(word)) {
            const auto path = import.resolved_path(what->name);
            if (import.environment.exists(path)) {
                import.file("alias_maps", path); // readable?
                files.push_back(path);
            } else if (import.given("alias_maps") && path != "/etc/aliases") {
                import.mark_unsupported("alias_maps",
                                        fmt::format("{}: there is no such file; postrider check requires it", path));
                files.push_back(path);
            }
        } else if (auto table = table_of(import, "alias_maps", word)) {
            tables.push_back(*std::move(table));
        }
    }
    if (import.given("alias_maps")) {
        // The default file may be missing: it is taken once it is there.
        if (!(files.empty() && import.value("alias_maps").find("/etc/aliases") != std::string::npos))
            import.set("local.aliases", toml(files), "alias_maps");
        if (!tables.empty()) import.set("local.alias_tables", toml(tables), "alias_maps");
    }
    import.mark_converted("alias_maps");
}

void permissions(Import& import) {
    for (const auto& [name, key] :
         {std::pair{"allow_mail_to_commands", "local.commands_from"}, {"allow_mail_to_files", "local.files_from"}}) {
        if (!import.given(name)) continue;
        std::vector<std::string> out;
        for (const auto& word : import.words(name)) {
            if (word == "alias")
                out.emplace_back("aliases");
            else if (word == "forward")
                out.emplace_back("forward");
            else if (word == "include")
                out.emplace_back("includes");
            else
                import.fail(name, fmt::format("\"{}\": expected alias, forward or include", postfix::excerpt(word)));
        }
        import.set(key, toml(out), name);
    }
}

} // namespace

void import_local(Import& import) {
    mailboxes(import);
    forward_files(import);
    aliases(import);
    local_recipients(import);
    permissions(import);
}

} // namespace postrider
