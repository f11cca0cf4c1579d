// The keys of address classes and of the tables that rewrite addresses.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/addressing/mailbox_path.h"
#include "libsmtp/message/address.h"
#include <array>

namespace config {

namespace {

constexpr std::array<std::string_view, 3> places = {AliasRules::aliases, AliasRules::forward, AliasRules::includes};

Refusal not_a_hop(std::string_view text) {
    const auto hop = decide::NextHop::parse(text);
    if (hop && (hop->kind == decide::NextHop::Kind::host || hop->kind == decide::NextHop::Kind::mx_of))
        return std::nullopt;
    return fmt::format("\"{}\" is not a valid next hop: expected one such as \"lmtp:/run/dovecot/lmtp\" or "
                       "\"[store.example.com]:25\"",
                       text);
}

TextKey next_hop(std::string& value) {
    return {[&](std::string_view text) -> Refusal {
                if (!text.empty())
                    if (auto refusal = not_a_hop(text)) return refusal;
                value = text;
                return std::nullopt;
            },
            [&] { return value; }};
}

TextKey mailbox_or_hop(std::string& value) {
    return {[&](std::string_view text) -> Refusal {
                if (!decide::name_of_command(text).empty()) {
                    value = text;
                    return std::nullopt;
                }
                if (!text.empty() && !decide::is_mailbox_pattern(text)) {
                    if (auto refusal = not_a_hop(text)) return refusal;
                    value = text;
                    return std::nullopt;
                }
                const auto path = text.substr(std::min(text.size(), text.find(':') + 1));
                if (!text.empty() && !path.starts_with('/')) return "expected an absolute path after the colon";
                for (auto open = path.find('{'); open != path.npos; open = path.find('{', open + 1)) {
                    const auto rest = path.substr(open);
                    if (!rest.starts_with("{user}") && !rest.starts_with("{domain}") && !rest.starts_with("{value}"))
                        return "only {user}, {domain} and {value} are allowed in braces";
                }
                value = text;
                return std::nullopt;
            },
            [&] { return value; }};
}

TextKey user_or_address(std::string& value) {
    return {[&](std::string_view text) -> Refusal {
                if (!text.empty() && !smtp::Mailbox::parse_bare_allowed(text))
                    return fmt::format("\"{}\" is not a valid user name or address", text);
                value = text;
                return std::nullopt;
            },
            [&] { return value; }};
}

} // namespace

std::vector<Key> alias_keys(AliasRules& s) {
    return {
        {"alias_tables", lookup_tables(s.tables),
         "Lookup tables of aliases, searched for names that are in no file of local.aliases, in lower case: "
         "user+extension, then user. Values have the form described in aliases(5); commands are run and files "
         "written as default_user. \"postrider map\" compiles a large text table.",
         "[\"lmdb:/etc/postrider/more-aliases\"]"},
        {"deliver", next_hop(s.deliver),
         "Next hop for mail to users' mailboxes, in the form used in [route], such as an LMTP server. Aliases and "
         ".forward files are applied first. \"\": to local.mailbox.",
         "\"lmtp:/run/dovecot/lmtp\""},
        {"catch_all", user_or_address(s.catch_all),
         "User or address that gets mail for unknown users of local.domains. \"\": such mail is rejected. With "
         "local.recipients, or a narrower local.known_recipients, unknown users are rejected at RCPT nevertheless, and "
         "it gets only what comes another way: from aliases and from programs of this system.",
         "\"info\""},
        {"commands_from", one_of_list(s.commands, places),
         "Sources from which \"|command\" is accepted: \"aliases\" (files of local.aliases), \"forward\" (users' own "
         "files), \"includes\" (files that alias files name with :include:).",
         ""},
        {"files_from", one_of_list(s.files, places),
         "Sources from which \"/file\" is accepted; the values are those of commands_from.", ""},
        {"default_user", any_text(s.default_user),
         "User that commands are run as, and files written as, if they are named in an alias file that belongs to "
         "root. For other alias files this is the owner of the file.",
         ""},
    };
}

Section section_for(VirtualAlias& s) {
    return {"virtual_alias",
            "Addresses that stand for other addresses. The tables are searched for every recipient, whatever its "
            "domain; domains listed here have no other recipients. See postrider-addresses(7).",
            {
                {"domains", domains(s.domains),
                 "Domains whose addresses are all in the tables: other addresses are rejected (550 5.1.1).",
                 "[\"lists.example.com\"]"},
                {"domain_tables", lookup_tables(s.domain_tables),
                 "Tables of further such domains: an entry with the domain as its key, with any value that is not "
                 "empty. A file of names alone is no table: list them in domains.",
                 "[\"text:/etc/postrider/virtual_domains\"]"},
                {"tables", lookup_tables(s.tables),
                 "Tables that map addresses to one or more others. Searched for user+extension@domain, user@domain, "
                 "user+extension and user (for local.domains), and @domain, which matches all addresses of the "
                 "domain.",
                 "[\"text:/etc/postrider/virtual\"]"},
            }};
}

Section section_for(VirtualMailbox& s) {
    return {"virtual_mailbox",
            "Domains whose recipients have mailboxes on this host without being users of this system.",
            {
                {"domains", domains(s.domains), "Domains of virtual mailboxes.", "[\"boxes.example.com\"]"},
                {"domain_tables", lookup_tables(s.domain_tables),
                 "Tables of further such domains: an entry with the domain as its key, with any value that is not "
                 "empty. A file of names alone is no table: list them in domains.",
                 "[\"mysql:/etc/postrider/domains.cf\"]"},
                {"recipients", lookup_tables(s.users),
                 "Tables of the addresses that exist: user+extension@domain, user@domain, @domain. If empty, every "
                 "address is accepted.",
                 "[\"text:/etc/postrider/mailboxes\"]"},
                {"deliver", mailbox_or_hop(s.deliver),
                 "Where mail for these domains is delivered: \"maildir:PATH\" or \"mbox:PATH\", a next hop in the "
                 "form used in [route], such as an LMTP server, or \"command:NAME\", a program of [command.NAME]. In a "
                 "path, {user} is the local part without extension, {domain} the domain, both in lower case, "
                 "and {value} the value from the table.",
                 "\"lmtp:/run/dovecot/lmtp\""},
                {"user", any_text(s.user), "User of this system who owns the mailboxes named by deliver.", "\"vmail\""},
            }};
}

Section section_for(Relocated& s) {
    return {"relocated",
            "Recipients who have moved elsewhere.",
            {{"tables", lookup_tables(s.tables),
              "Tables that map addresses to a text that says where the recipient is now. Mail for these addresses is "
              "rejected with 5.1.6 and this text.",
              "[\"text:/etc/postrider/relocated\"]"}}};
}

Section section_for(Transport& s) {
    return {"transport",
            "Next hops by recipient. For whole domains, a [route] has more options.",
            {{"tables", lookup_tables(s.tables),
              "Tables that map user+extension@domain, user@domain, domain, .parent or * to a next hop in the form "
              "used in [route], to \"command:NAME\", a program of [command.NAME], to \"discard:text\", "
              "\"error:5.1.2 text\" or \"defer:4.3.2 text\"; \"local:\" treats "
              "the address as that of a user of this system, \"virtual:\" as one in [virtual_mailbox]. Postfix's "
              "\"smtp:[host]:port\", \"lmtp:unix:/path\", \":\" and, for a program, \"NAME:\" are accepted as well. "
              "\"NAME:\" is also a [route.\"NAME\"] whose name has no dot: the mail goes by that route, whatever its "
              "domain, and \"NAME:[host]:port\" sends it elsewhere with the settings of that route.",
              "[\"text:/etc/postrider/transport\"]"}}};
}

Section section_for(SenderRelay& s) {
    return {"sender_relay",
            "Next hops by sender, for mail to other systems whose domain has neither a [route] of its own nor an "
            "entry in a transport table.",
            {{"tables", lookup_tables(s.tables),
              "Tables that map user+extension@domain, user@domain, @domain, or <> for reports, to a next hop in the "
              "form used in [route], or to \"NAME:\", a route as in transport.tables.",
              "[\"text:/etc/postrider/sender_relay\"]"}}};
}

} // namespace config
