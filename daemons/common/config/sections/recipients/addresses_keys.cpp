// The keys of address classes and of the tables that rewrite addresses.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/decide/addressing/mailbox_path.h"
#include "libsmtp/message/address.h"
#include <array>

namespace config {

namespace {

constexpr std::array<std::string_view, 3> places = {AliasRules::aliases, AliasRules::forward, AliasRules::includes};

std::string not_a_hop(std::string_view text) {
    const auto hop = decide::NextHop::parse(text);
    if (hop && (hop->kind == decide::NextHop::Kind::host || hop->kind == decide::NextHop::Kind::mx_of)) return "";
    return fmt::format("\"{}\" is not a next hop such as \"lmtp:/run/dovecot/lmtp\" or \"[store.example.com]:25\"", text);
}

TextKey next_hop(std::string& value) {
    return {[&](std::string_view text) -> std::string {
                auto wrong = text.empty() ? "" : not_a_hop(text);
                if (wrong.empty()) value = text;
                return wrong;
            },
            [&] { return value; }};
}

TextKey mailbox_or_hop(std::string& value) {
    return {[&](std::string_view text) -> std::string {
                if (!text.empty() && !decide::is_mailbox_pattern(text)) {
                    auto wrong = not_a_hop(text);
                    if (wrong.empty()) value = text;
                    return wrong;
                }
                const auto path = text.substr(std::min(text.size(), text.find(':') + 1));
                if (!text.empty() && !path.starts_with('/')) return "expected an absolute path behind the colon";
                for (auto open = path.find('{'); open != path.npos; open = path.find('{', open + 1)) {
                    const auto rest = path.substr(open);
                    if (!rest.starts_with("{user}") && !rest.starts_with("{domain}") && !rest.starts_with("{value}"))
                        return "only {user}, {domain} and {value} may stand in braces";
                }
                value = text;
                return "";
            },
            [&] { return value; }};
}

TextKey user_or_address(std::string& value) {
    return {[&](std::string_view text) -> std::string {
                if (!text.empty() && !smtp::Mailbox::parse_bare_allowed(text))
                    return fmt::format("\"{}\" is neither a user nor an address", text);
                value = text;
                return "";
            },
            [&] { return value; }};
}

} // namespace

std::vector<Key> alias_keys(AliasRules& s) {
    return {
        {"alias_tables", lookup_tables(s.tables),
         "Lookup tables of aliases, asked for names that no file of local.aliases has, in small letters: user+extension, "
         "then user. Values are written as in aliases(5); commands and files run as default_user. A large text table is "
         "compiled by \"postrider map\".",
         "[\"lmdb:/etc/postrider/more-aliases\"]"},
        {"deliver", next_hop(s.deliver),
         "Where mail for users' mailboxes goes instead: a next hop as in [route], such as an LMTP server. Aliases "
         "and .forward files are followed before. \"\": to local.mailbox.",
         "\"lmtp:/run/dovecot/lmtp\""},
        {"catch_all", user_or_address(s.catch_all),
         "Where mail for unknown users of local.domains goes: a user or an address. \"\": it is refused.",
         "\"info\""},
        {"commands_from", one_of_list(s.commands, places),
         "From where \"|command\" is taken: \"aliases\" (files of local.aliases), \"forward\" (users' own files), "
         "\"includes\" (what alias files name by :include:).",
         ""},
        {"files_from", one_of_list(s.files, places), "The same for \"/file\".", ""},
        {"default_user", any_text(s.default_user),
         "The user as whom commands and files of alias files are delivered to, if the alias file is root's. Else "
         "it is the owner of the file.",
         ""},
    };
}

Section section_for(VirtualAlias& s) {
    return {"virtual_alias",
            "Addresses that lead to others. The tables are asked for every recipient, whatever its domain; "
            "domains listed here have no other recipients than these. See postrider-addresses(7).",
            {
                {"domains", domains(s.domains),
                 "Domains all of whose addresses are found in the tables: what is not is refused (550 5.1.1).",
                 "[\"lists.example.com\"]"},
                {"tables", lookup_tables(s.tables),
                 "Tables from addresses to one or more others. Asked for user+extension@domain, user@domain, (for "
                 "local.domains) user+extension and user, and @domain: that one catches all.",
                 "[\"text:/etc/postrider/virtual\"]"},
            }};
}

Section section_for(VirtualMailbox& s) {
    return {"virtual_mailbox",
            "Domains whose recipients have mailboxes here without being users of this system.",
            {
                {"domains", domains(s.domains), "The domains.", "[\"boxes.example.com\"]"},
                {"users", lookup_tables(s.users),
                 "Tables of the addresses there are: user+extension@domain, user@domain, @domain. Without any, every "
                 "address is taken.",
                 "[\"text:/etc/postrider/mailboxes\"]"},
                {"deliver", mailbox_or_hop(s.deliver),
                 "Where their mail goes: \"maildir:PATH\" or \"mbox:PATH\", or a next hop as in [route], such as an LMTP "
                 "server. In a path, {user} is the local part without extension, {domain} the domain, both in small "
                 "letters, and {value} what the table says.",
                 "\"lmtp:/run/dovecot/lmtp\""},
                {"user", any_text(s.user), "The user of this system whom files of deliver belong to.", "\"vmail\""},
            }};
}

Section section_for(Canonical& s) {
    return {"canonical",
            "Tables that give addresses another form. The envelope is rewritten, before anything else is asked; "
            "header fields stay as they are.",
            {
                {"sender", lookup_tables(s.sender),
                 "For the reverse-path: user+extension@domain, user@domain, (for local.domains) names, @domain.",
                 "[\"text:/etc/postrider/sender_canonical\"]"},
                {"recipient", lookup_tables(s.recipient), "For recipients, in the same way.",
                 "[\"text:/etc/postrider/recipient_canonical\"]"},
            }};
}

Section section_for(Relocated& s) {
    return {"relocated",
            "Who is here no more.",
            {{"tables", lookup_tables(s.tables),
              "Tables from addresses to a word on where they are now. Mail for them is refused with 5.1.6 and that "
              "word.",
              "[\"text:/etc/postrider/relocated\"]"}}};
}

Section section_for(Transport& s) {
    return {"transport",
            "Next hops by recipient. For whole domains a [route] can say more.",
            {{"tables", lookup_tables(s.tables),
              "Tables from user+extension@domain, user@domain, domain, .parent or * to a next hop as in [route], to "
              "\"discard:text\", \"error:5.1.2 text\" or \"defer:4.3.2 text\"; \"local:\" and \"virtual:\" make the "
              "address one of users here, or of [virtual_mailbox]. Postfix's \"smtp:[host]:port\", "
              "\"lmtp:unix:/path\" and \":\" are understood, too.",
              "[\"text:/etc/postrider/transport\"]"}}};
}

Section section_for(SenderRelay& s) {
    return {"sender_relay",
            "Next hops by sender, for mail to other systems whose domain has neither a [route] of its own nor an entry "
            "in a transport table.",
            {{"tables", lookup_tables(s.tables),
              "Tables from user+extension@domain, user@domain, @domain, or <> for reports, to a next hop as in "
              "[route].",
              "[\"text:/etc/postrider/sender_relay\"]"}}};
}

} // namespace config
