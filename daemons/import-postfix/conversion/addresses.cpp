// Mailboxes of people who are no users of this system, and tables that rewrite addresses and say where they
// go.
#include "daemons/common/text/pattern.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/routing/host_list.h"
#include "daemons/decide/routing/route_name.h"
#include "daemons/decide/routing/transport_entry.h"
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/final_transports.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include "daemons/import-postfix/transports/smtp_transports.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace postrider {

namespace {

// The user whose number virtual_uid_maps gives for all mailboxes; "": none, which is noted.
std::string owner_of_mailboxes(Import& import) {
    const auto uids = import.value("virtual_uid_maps");
    if (!uids.starts_with("static:")) {
        import.mark_unsupported("virtual_uid_maps",
                                "only a single user, static:NUMBER, has a counterpart: virtual_mailbox.user");
        return "";
    }
    const auto number = postfix::number_of(std::string_view(uids).substr(7));
    auto user =
        number && *number <= UINT32_MAX ? import.environment.user_name(static_cast<std::uint32_t>(*number)) : "";
    if (user.empty())
        import.mark_unsupported(
            "virtual_uid_maps",
            fmt::format("{}: no user of this system has that number: name one in virtual_mailbox.user", uids));
    return user;
}

// Does transport_maps lead mail for all domains of mailboxes elsewhere, as far as its tables can be read?
bool is_all_led_elsewhere(Import& import) {
    const auto* domains = import.draft.find("virtual_mailbox.domains");
    if (!domains || import.draft.find("virtual_mailbox.domain_tables")) return false;
    std::map<std::string, bool, std::less<>> leads; // by key; the first table that has it counts
    for (const auto& word : tables_of(import, "transport_maps")) {
        const auto type = postfix::parse_typed(word);
        const bool has_file = type && type->type != "static" && !type->name.starts_with('{');
        if (!type || (has_file && !import.environment.exists(import.resolved_path(type->name)))) return false;
        const auto lines = table_lines(import, "transport_maps", word);
        if (!lines) return false; // it may have any of them
        for (const auto& line : *lines) {
            const auto transport = std::string_view(line.value).substr(0, line.value.find(':'));
            const bool elsewhere = !transport.empty() && transport != "virtual";
            if (line.has_pattern && !elsewhere) return false;
            if (!line.has_pattern) leads.emplace(smtp::lowered(line.key), elsewhere);
        }
    }
    const auto is_led = [&](const std::string& domain) {
        const auto found = leads.find(domain);
        return found != leads.end() ? found->second : leads.contains("*") && leads.find("*")->second;
    };
    const auto words = postfix::split(domains->value, "[],\" \t\r\n");
    return words && std::ranges::all_of(*words, is_led);
}

// Postfix's smtpd then takes mail for every address, and its virtual(8) delivers to none: what neither
// virtual_alias_maps nor transport_maps leads elsewhere is deferred or returned. Here such an address is refused; but
// perhaps the table is only set elsewhere, by a script that starts a container.
void no_virtual_mailboxes(Import& import, const std::string& base) {
    constexpr std::string_view name = "virtual_mailbox_domains";
    const bool elsewhere = is_all_led_elsewhere(import);
    if (!elsewhere) {
        const auto section = import.table_section("no mailboxes", "virtual_mailbox_maps").name;
        import.set(fmt::format("table.{}.kind", section), toml("entries"), name);
        import.set(fmt::format("table.{}.entries", section),
                   toml(std::vector{std::string("unused@example.invalid unused")}), name);
        import.set("virtual_mailbox.recipients", toml(std::vector{"table:" + section}), name);
    }
    import.set("virtual_mailbox.deliver",
               toml(fmt::format("maildir:{}/{{domain}}/{{user}}", base.starts_with('/') ? base : "/var/mail")), name);
    const auto user = import.value("virtual_uid_maps").empty() ? "" : owner_of_mailboxes(import);
    import.set("virtual_mailbox.user", toml(user.empty() ? import.value("default_privs") : user), name);
    if (elsewhere)
        return import.add_remark(name, "there is no virtual_mailbox_maps: mail for every address is accepted, as by "
                                       "Postfix, and goes where transport.tables say");
    import.mark_unguarded(
        name, "there is no virtual_mailbox_maps",
        fmt::format("Postfix's virtual(8) delivers to none of their addresses, and here all are refused but those "
                    "in virtual_alias.tables{}. To deliver, name the table of mailboxes in "
                    "virtual_mailbox.recipients; or name the LMTP server in virtual_mailbox.deliver, and remove "
                    "virtual_mailbox.recipients",
                    import.value("transport_maps").empty()
                        ? ""
                        : ", unless transport_maps names another transport for them: then remove "
                          "virtual_mailbox.recipients"));
}

// Files below virtual_mailbox_base: a slash at the end of what the table says makes a maildir.
void virtual_files(Import& import) {
    const auto base = import.value("virtual_mailbox_base");
    if (import.value("virtual_mailbox_maps").empty()) return no_virtual_mailboxes(import, base);
    if (!base.starts_with('/'))
        import.mark_unsupported("virtual_mailbox_base",
                                fmt::format("\"{}\" is not an absolute path, and Postfix delivers to none of these "
                                            "mailboxes: put the directory into virtual_mailbox.deliver; postrider "
                                            "check rejects the present value",
                                            base));
    std::size_t maildirs = 0, mboxes = 0;
    for (const auto& word : tables_of(import, "virtual_mailbox_maps"))
        if (const auto type = postfix::parse_typed(word); type && type->type != "sqlite" && type->type != "mysql")
            if (const auto entries = table_entries(import, "virtual_mailbox_maps", word))
                for (const auto& entry : *entries) (entry.value.ends_with('/') ? maildirs : mboxes) += 1;
    if (maildirs && mboxes)
        import.add_remark("virtual_mailbox_maps",
                          "some mailboxes are maildirs and some mboxes; all are treated as maildirs");
    const bool maildir = maildirs > 0 || mboxes == 0;
    import.set("virtual_mailbox.deliver", toml(fmt::format("{}:{}/{{value}}", maildir ? "maildir" : "mbox", base)),
               import.given("virtual_mailbox_base") ? "virtual_mailbox_base" : "virtual_mailbox_maps");
    if (const auto user = owner_of_mailboxes(import); !user.empty())
        import.set("virtual_mailbox.user", toml(user), "virtual_uid_maps");
}

void virtual_mailboxes(Import& import) {
    import.mark_converted("virtual_mailbox_base"), import.mark_converted("virtual_uid_maps"),
        import.mark_converted("virtual_transport");
    if (!import.draft.find("virtual_mailbox.domains") && !import.draft.find("virtual_mailbox.domain_tables")) return;
    const auto transport = import.value("virtual_transport");
    if (const auto hop = next_hop_of_transport(import, transport); !hop.empty()) {
        return import.set("virtual_mailbox.deliver", toml(hop), "virtual_transport");
    } else if (transport == "virtual" || transport == "virtual:") {
        return virtual_files(import);
    }
    // Dovecot's own program behind a pipe(8): its server does the same.
    const auto pipe = std::ranges::find_if(import.services, [&](const auto& each) {
        return each.command == "pipe" && (transport == each.name || transport.starts_with(each.name + ":"));
    });
    if (pipe != import.services.end() &&
        std::ranges::any_of(pipe->arguments, [](const auto& word) { return word.contains("dovecot"); })) {
        import.set("virtual_mailbox.deliver", toml("lmtp:/run/dovecot/lmtp"), "virtual_transport");
        return import.add_remark(
            "virtual_transport",
            "replaced Dovecot's program by its LMTP server: install it, and add lmtp to its protocols");
    }
    if (const auto program = program_of_transport(import, transport); !program.empty())
        return import.set("virtual_mailbox.deliver", toml(decide::command_target(program)), "virtual_transport");
    // Nowhere to put the mail. The domains stay, and check refuses them without a place: taken out, their mail would
    // be refused.
    import.draft.remove("virtual_mailbox.deliver");
    if (transport != "virtual")
        import.mark_unsupported("virtual_transport", fmt::format("\"{}\" has no counterpart: name an LMTP server in "
                                                                 "virtual_mailbox.deliver, as postrider check requires",
                                                                 transport));
}

void generic(Import& import) {
    const auto tables = converted_tables(import, "smtp_generic_maps");
    import.mark_converted("smtp_generic_maps");
    if (tables.empty()) return;
    import.set("generic.tables", toml(tables), "smtp_generic_maps");
    const auto propagated = import.words("propagate_unmatched_extensions");
    if (std::ranges::find(propagated, "generic") != propagated.end())
        import.set("generic.propagate_extension", "true", "smtp_generic_maps");
}

// Clients whose mail has its header rewritten, in our words for where mail comes from.
std::vector<std::string> origins_of_rewritten_headers(Import& import) {
    std::vector<std::string> out = {"local"};
    for (const auto& word : import.words("local_header_rewrite_clients")) {
        const auto add = [&](const char* origin) {
            if (std::ranges::find(out, origin) == out.end()) out.emplace_back(origin);
        };
        if (word == "permit_mynetworks")
            add("networks");
        else if (word == "permit_sasl_authenticated")
            add("authenticated");
        else if (word != "permit_inet_interfaces")
            import.mark_unsupported("local_header_rewrite_clients",
                                    fmt::format("\"{}\" has no counterpart among the values of "
                                                "masquerade.header_origins",
                                                word));
    }
    if (!import.value("remote_header_rewrite_domain").empty())
        return {"local", "submission", "authenticated", "networks", "other"};
    return out;
}

// "user@host" becomes "user@host.example.com" before anything else is looked up. Nothing: that is not set. Postfix's
// default for a configuration without a compatibility_level is not carried over.
std::optional<std::string> table_that_appends_mydomain(Import& import) {
    constexpr std::string_view name = "append_dot_mydomain";
    import.mark_converted(name);
    const auto domain = import.value("mydomain");
    if (!import.given(name) || !import.flag(name) || domain.empty()) return {};
    const auto section = import.table_section(std::string(name), name).name;
    import.set(fmt::format("table.{}.kind", section), toml("regexp"), name);
    import.set(fmt::format("table.{}.rules", section),
               toml(std::vector{fmt::format("/^(.*)@([^@.\\[\\]]+)$/ $1@$2.{}", domain)}), name);
    import.add_remark(name,
                      "senders and recipients without a dot in their domain are completed by [canonical]; clients "
                      "that may not relay must still write complete recipients");
    return "patterns:" + section;
}

// Each class of addresses has the tables of its own setting; then those of canonical_maps, for the result.
void canonical(Import& import) {
    struct Class {
        std::string_view name, key, setting, classes;
        std::vector<std::string> tables = {};
    };
    Class all[] = {
        {"envelope_sender", "canonical.sender", "sender_canonical_maps", "sender_canonical_classes"},
        {"envelope_recipient", "canonical.recipient", "recipient_canonical_maps", "recipient_canonical_classes"},
        {"header_sender", "canonical.header_sender", "sender_canonical_maps", "sender_canonical_classes"},
        {"header_recipient", "canonical.header_recipient", "recipient_canonical_maps", "recipient_canonical_classes"},
    };
    const auto tables_of = [&](std::string_view setting, std::string_view classes) {
        import.mark_converted(classes);
        if (!import.value(setting).empty()) return converted_tables(import, setting);
        import.mark_converted(setting);
        return std::vector<std::string>();
    };
    bool several = false;
    for (const auto& [setting, classes] : {std::pair{"sender_canonical_maps", "sender_canonical_classes"},
                                           {"recipient_canonical_maps", "recipient_canonical_classes"}}) {
        const auto tables = tables_of(setting, classes);
        for (const auto& word : import.words(classes))
            for (auto& each : all)
                if (each.name == word && each.setting == setting) each.tables = tables;
        several = several || !tables.empty();
    }
    const auto common = tables_of("canonical_maps", "canonical_classes");
    std::vector<std::string> common_classes;
    for (const auto& word : import.words("canonical_classes"))
        for (auto& each : all)
            if (each.name == word && !several)
                each.tables = common;
            else if (each.name == word)
                common_classes.push_back(word);
    if (const auto first = table_that_appends_mydomain(import))
        for (auto& each : all) each.tables.insert(each.tables.begin(), *first);
    const bool staged = several && !common.empty() && !common_classes.empty();
    if (staged) {
        import.set("canonical.common", toml(common), "canonical_maps");
        import.set("canonical.common_classes", toml(common_classes), "canonical_classes");
    }
    const auto has_tables = [](const Class& each) { return !each.tables.empty(); };
    if (staged || std::ranges::any_of(all, has_tables)) import.draft.set("canonical.repeat", "true", "as Postfix does");
    bool headers =
        std::ranges::any_of(common_classes, [](const auto& name) { return name.starts_with("header"); }) && staged;
    for (const auto& each : all) {
        if (each.tables.empty()) continue;
        const auto from = !import.value(each.setting).empty()       ? each.setting
                          : !import.value("canonical_maps").empty() ? "canonical_maps"
                                                                    : "append_dot_mydomain";
        import.set(each.key, toml(each.tables), from);
        headers = headers || each.name.starts_with("header");
    }
    for (const auto& listener : import.listeners) {
        const auto options = postfix::words_of(import.value(listener.values, "receive_override_options"));
        if (headers && std::ranges::find(options, "no_address_mappings") != options.end())
            import.add_remark("receive_override_options",
                              fmt::format("no_address_mappings of {}: canonical.header_origins decides whose header is "
                                          "rewritten, for all listeners",
                                          listener.name));
    }
    if (headers)
        import.set("canonical.header_origins", toml(origins_of_rewritten_headers(import)),
                   "local_header_rewrite_clients");
}

void masquerade(Import& import) {
    std::vector<std::string> domains;
    for (auto word : import.words("masquerade_domains")) {
        bool stays = false; // "!!x" is x
        for (; word.starts_with('!'); word.erase(0, 1)) stays = !stays;
        if (word.starts_with('.')) word.erase(0, 1);
        if (!word.empty()) domains.push_back((stays ? "!" : "") + word);
    }
    for (const auto* name : {"masquerade_domains", "masquerade_classes", "masquerade_exceptions",
                             "local_header_rewrite_clients", "remote_header_rewrite_domain"})
        import.mark_converted(name);
    if (!import.value("remote_header_rewrite_domain").empty())
        import.add_remark("remote_header_rewrite_domain",
                          "addresses without a domain in the headers of other clients' mail are not completed with "
                          "this domain, but stay as they are");
    if (domains.empty()) return;
    import.set("masquerade.domains", toml(domains), "masquerade_domains");
    std::vector<std::string> exceptions;
    for (const auto& word : import.words("masquerade_exceptions"))
        if (word.find_first_of(":/!@") == word.npos)
            exceptions.push_back(word);
        else
            import.mark_unsupported("masquerade_exceptions", fmt::format("\"{}\": list the names", word));
    if (!exceptions.empty()) import.set("masquerade.exceptions", toml(exceptions), "masquerade_exceptions");
    std::vector<std::string> classes;
    for (const auto& word : import.words("masquerade_classes"))
        if (word == "envelope_sender" || word == "envelope_recipient" || word == "header_sender" ||
            word == "header_recipient")
            classes.push_back(word);
    if (import.given("masquerade_classes")) import.set("masquerade.classes", toml(classes), "masquerade_classes");
    import.set("masquerade.header_origins", toml(origins_of_rewritten_headers(import)), "local_header_rewrite_clients");
}

// Why Postfix's transport tables may say this, and ours not; "": ours understand it, too.
std::string objection_to(Import& import, const TableLine& line, const decide::TransportNames& names) {
    const auto colon = line.value.find(':');
    const auto transport = std::string_view(line.value).substr(0, colon);
    if (line.has_pattern && transport.contains('$') && colon != std::string::npos)
        return "the name of the transport is made of what the pattern catches: write a rule for each transport";
    if (!line.has_pattern && line.key.contains('$')) return "its key is neither an address nor a domain";
    if (!line.has_pattern || !line.value.contains('$')) {
        const auto known = decide::TransportEntry::parse(line.value, names);
        const bool other = known && known->kind == decide::TransportEntry::Kind::next_hop &&
                           colon != std::string::npos && !decide::RouteName::parse(known->value) &&
                           std::ranges::any_of(import.services, [&](const auto& each) {
                               return each.type == "unix" && each.name == transport && each.name != "smtp" &&
                                      each.name != "relay" && each.name != "lmtp";
                           });
        if (known && !other) return "";
        return decide::is_list(std::string_view(line.value).substr(colon + 1))
                   ? "several next hops must all be hosts in brackets"
                   : "master.cf has no transport of that name that sends mail or runs a program";
    }
    for (const auto* caught : {"x", "25"}) { // a name, a port
        const TableLine filled{{line.key, common::filled_in_with(line.value, caught), line.line}, true};
        if (objection_to(import, filled, names).empty()) return "";
    }
    return "with what the pattern catches, it is not a valid transport or next hop";
}

// Entries our transport tables do not understand are named.
void transport(Import& import) {
    const decide::TransportNames names{imported_programs(import), imported_routes(import)};
    auto tables = converted_tables(import, "transport_maps");
    const std::string_view from = tables.empty() ? "default_transport" : "transport_maps";
    if (const auto last = table_of_final_transports(import)) tables.push_back(*last);
    if (!tables.empty()) import.set("transport.tables", toml(tables), from);
    for (const auto& word : tables_of(import, "transport_maps")) {
        const auto type = postfix::parse_typed(word);
        if (!type || type->type == "socketmap" || type->type == "tcp" || type->type == "sqlite") continue;
        const auto lines = table_lines(import, "transport_maps", word);
        std::size_t odd = 0;
        for (const auto& line : lines ? *lines : std::vector<TableLine>{}) {
            if (std::string_view pattern = line.key; type->type == "pcre" && !common::Pattern::take(pattern))
                continue;                                          // skipped, here as by Postfix
            if (type->type == "regexp" && !line.refusal.empty()) { // perhaps not by Postfix
                if (++odd <= 20)
                    import.mark_unguarded(
                        "transport_maps", fmt::format("{} line {}", postfix::excerpt(type->name), line.line),
                        fmt::format("\"{}\": {}. Write the rule in Perl's syntax, with one pattern, or "
                                    "between \"if\" and \"endif\"; until then mail for it goes "
                                    "where the other rules and the MX records say",
                                    postfix::excerpt(line.key), line.refusal));
                continue;
            }
            const auto colon = line.value.find(':');
            for (const auto& hop : postfix::words_of(std::string_view(line.value).substr(colon + 1)))
                if (const auto place = postfix::destination_of(hop); place && colon != std::string::npos)
                    record_spawned(import, *place);
            const auto why = objection_to(import, line, names);
            const auto known = decide::TransportEntry::parse(line.value, names);
            if (why.empty() && known && known->kind == decide::TransportEntry::Kind::next_hop &&
                known->value.starts_with("lmtp:") && known->value.find('/') != std::string::npos &&
                line.value.find("unix:/") == std::string::npos)
                import.add_remark("transport_maps", fmt::format("{} line {}: write the absolute path of the socket",
                                                                type->name, line.line));
            if (!why.empty() && ++odd <= 20)
                import.mark_unsupported(
                    "transport_maps", fmt::format("{} line {}: \"{} {}\": {}; mail for it waits until the line is "
                                                  "changed",
                                                  type->name, line.line, line.key, postfix::excerpt(line.value), why));
        }
        if (odd > 20)
            import.mark_unsupported("transport_maps", fmt::format("{}: {} more such lines", type->name, odd - 20));
    }
}

} // namespace

void import_addresses(Import& import) {
    virtual_mailboxes(import);
    canonical(import);
    generic(import);
    masquerade(import);
    transport(import);
    // Only virtual(8) observes this limit.
    if (const auto* place = import.draft.find("virtual_mailbox.deliver");
        !place || !(place->value.starts_with("\"maildir:") || place->value.starts_with("\"mbox:")))
        import.mark_converted("virtual_mailbox_limit");
    if (const auto limit = import.number("virtual_alias_expansion_limit");
        limit && import.given("virtual_alias_expansion_limit")) {
        if (*limit > 10'000)
            import.set("local.alias_recipients", toml(*limit), "virtual_alias_expansion_limit");
        else
            import.mark_converted("virtual_alias_expansion_limit");
    }
}

} // namespace postrider
