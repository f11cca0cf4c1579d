// How mail leaves: next hops, accounts there, levels of TLS, limits.
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/final_transports.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include "daemons/import-postfix/transports/smtp_transports.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

bool bracketed(std::string_view hop) {
    const auto parsed = decide::NextHop::parse(hop);
    return parsed && parsed->kind == decide::NextHop::Kind::host;
}

// route."*": relayhost, else default_transport with a next hop.
void relayhost(Import& import) {
    std::vector<std::string> hops;
    const auto add = [&](std::string_view name, std::string_view word) {
        if (const auto hop = next_hop(word))
            hops.push_back(*hop);
        else
            import.mark_unsupported(
                name, fmt::format("\"{}\" is not a supported next hop: mail leaves by its MX hosts", word),
                IfLost::unguarded);
    };
    std::string_view from = "relayhost";
    const auto relays = import.words("relayhost");
    for (const auto& word : relays) add("relayhost", word);
    if (hops.size() != relays.size()) hops.clear(); // "# to be filled in": no word of it is a host
    const auto transport = import.value("default_transport");
    if (const auto type = postfix::parse_typed(transport); import.given("default_transport")) {
        const auto bare = type ? type->type : transport;
        if (own_smtp_transport(import, transport)) {
            if (auto all = next_hops_of_transport(import, transport); !all.empty() && hops.empty())
                from = "default_transport", hops = std::move(all);
            else if (type && !type->name.empty() && hops.empty())
                import.mark_unsupported("default_transport",
                                        fmt::format("\"{}\" is not a supported next hop", type->name));
        } else if (bare != "smtp" && bare != "relay" && !is_in_final_transports(import, "default_transport"))
            import.mark_unsupported("default_transport",
                                    fmt::format("\"{}\" has no counterpart{}", transport,
                                                keeps_mail_from_leaving(bare)
                                                    ? ": mail leaves by SMTP; use postrider pause all to keep it here"
                                                    : ": mail leaves by SMTP"),
                                    keeps_mail_from_leaving(bare) ? IfLost::unguarded : IfLost::harmless);
        else if (type && !type->name.empty() && hops.empty() && !keeps_mail_from_leaving(bare))
            for (const auto& word : postfix::words_of(type->name))
                from = "default_transport", add("default_transport", word);
    }
    import.mark_converted("relayhost"), import.mark_converted("default_transport");
    if (hops.empty()) return;
    if (hops.size() > 1 && !std::ranges::all_of(hops, bracketed)) {
        import.mark_unsupported(
            from, fmt::format("several next hops must all be hosts in brackets; only {} is used", hops.front()));
        hops.resize(1);
    }
    import.set("route.\"*\".next_hop", hops.size() == 1 ? toml(hops.front()) : toml(hops), from);
}

// Routes that only describe how mail to everywhere is sent.
std::string everywhere(Import& import) {
    if (!import.draft.find("route.\"*\".next_hop"))
        import.draft.set("route.\"*\".next_hop", toml("mx"), "for what follows");
    return "route.\"*\"";
}

void fallback(Import& import) {
    std::vector<std::string> hops;
    for (const auto& word : import.words("smtp_fallback_relay")) {
        const auto hop = next_hop(word);
        if (hop && bracketed(*hop))
            hops.push_back(*hop);
        else
            import.mark_unsupported("smtp_fallback_relay", fmt::format("\"{}\": write the host in brackets", word));
    }
    import.mark_converted("smtp_fallback_relay");
    if (hops.empty()) return;
    const auto* now = import.draft.find("route.\"*\".next_hop");
    if (now && now->value.find('[') != now->value.npos)
        return import.add_remark("smtp_fallback_relay", "next_hop of route.\"*\" names hosts: add these after them");
    import.set(everywhere(import) + ".fallback", toml(hops), "smtp_fallback_relay");
}

// Mail to relay.domains has a next hop of its own: that of relay_transport, else relayhost's, never
// default_transport's.
void relay_transport(Import& import) {
    const auto transport = import.value("relay_transport");
    const auto type = postfix::parse_typed(transport);
    import.mark_converted("relay_transport");
    if (is_in_final_transports(import, "relay_transport")) return;
    const auto* own = own_smtp_transport(import, transport);
    const auto* all = import.draft.find("route.\"*\".next_hop");
    const bool by_relayhost = !import.words("relayhost").empty();
    const auto& bare = type ? type->type : transport;
    const bool plain = !own && (bare == "relay" || bare == "smtp") && (!type || type->name.empty());
    if (plain && (by_relayhost || !all || all->value == toml("mx"))) return; // as all mail
    if (plain && !import.given("relay_domains")) return;
    const auto listed = expanded_list(import, "relay_domains");
    const bool has_tables = import.draft.find("relay.domain_tables") != nullptr;
    if (listed.empty() && !has_tables) return; // there is no mail for it
    auto hops = next_hops_of_transport(import, transport);
    if (hops.size() > 1 && !std::ranges::all_of(hops, bracketed)) {
        import.mark_unsupported("relay_transport",
                                fmt::format("several next hops must all be hosts in brackets; only {} is "
                                            "used",
                                            hops.front()));
        hops.resize(1);
    }
    auto hop = hops.empty() ? toml("") : hops.size() == 1 ? toml(hops.front()) : toml(hops);
    const auto hop_of_all = all ? all->value : toml("mx");
    if (plain || (own && (!type || type->name.empty()))) hop = all && by_relayhost ? all->value : toml("mx");
    // These have no [route], whose pattern is a domain: their mail would be taken, and go as all mail does.
    if (has_tables && hop != hop_of_all)
        import.mark_unsupported(
            "relay_transport",
            fmt::format("the domains in relay.domain_tables, and those added there later, get no "
                        "next hop from \"{}\": each needs a [route] or an entry in "
                        "transport.tables; without one its mail is accepted, and returned if its MX "
                        "is this host",
                        transport),
            IfLost::unguarded);
    else if (has_tables && own)
        import.add_remark("relay_transport",
                          fmt::format("the settings of {} are not applied to the domains in relay.domain_tables: each "
                                      "needs a [route]",
                                      own->name));
    if (listed.empty()) return;
    if (hop == toml(""))
        return import.mark_unsupported(
            "relay_transport",
            fmt::format("\"{}\" has no counterpart: write a [route] for each of relay.domains", transport)); // by MX
    std::vector<std::string> domains;
    for (const auto& word : listed)
        if (auto name = config::domain_name(word); !name.empty()) domains.push_back(std::move(name));
    const bool below = import.value("parent_domain_matches_subdomains").find("relay_domains") != std::string::npos;
    for (const auto& domain : domains)
        for (const auto& pattern : below ? std::vector{domain, "." + domain} : std::vector{domain})
            import.set(fmt::format("route.\"{}\".next_hop", pattern), hop, "relay_transport");
    if (!own) return;
    for (const auto& domain : domains)
        for (const auto& pattern : below ? std::vector{domain, "." + domain} : std::vector{domain})
            import_settings_of_transport(import, *own, pattern);
}

// Postfix has settings of the transport smtp, which is not that of all mail if default_transport names another one.
bool is_of_another_transport(Import& import, std::string_view name, const postfix::Service* all) {
    if (!all || !name.starts_with("smtp_") || !import.given(name)) return false;
    import.add_remark(name, fmt::format("of the transport smtp: not applied to all mail, which goes by {}", all->name));
    return true;
}

void limits(Import& import) {
    const auto* all = own_smtp_transport(import, import.value("default_transport"));
    const auto connections = [&](std::string_view name, std::initializer_list<std::string_view> keys) {
        if (!import.given(name) || is_of_another_transport(import, name, all)) return;
        if (const auto number = import.number(name); number && *number > 0)
            for (const auto key : keys) import.set(key, toml(*number), name);
        import.mark_converted(name);
    };
    connections("default_destination_concurrency_limit", {"queue.connections_mx", "queue.connections_route"});
    connections("smtp_destination_concurrency_limit", {"queue.connections_mx"});
    connections("relay_destination_concurrency_limit", {"queue.connections_route"});
    if (import.draft.find("route.\"*\".next_hop") && import.given("smtp_destination_concurrency_limit"))
        connections("smtp_destination_concurrency_limit", {"route.\"*\".connections"});
    for (const auto* name : {"default_destination_rate_delay", "smtp_destination_rate_delay"}) {
        import.mark_converted(name);
        if (!import.given(name) || is_of_another_transport(import, name, all)) continue;
        if (all && import.given(all->name + "_destination_rate_delay")) continue; // wins over the default
        const auto delay = import.seconds(name);
        if (!delay || *delay == 0) continue;
        if (*delay == 1)
            import.set(everywhere(import) + ".messages_per_second", "1", name);
        else
            import.set(everywhere(import) + ".messages_per_hour", toml(std::max<std::uint64_t>(3600 / *delay, 1)),
                       name);
    }
    if (import.given("smtp_connection_reuse_count_limit"))
        if (const auto number = import.number("smtp_connection_reuse_count_limit"); number && *number > 0)
            import.set("queue.messages_per_connection", toml(*number), "smtp_connection_reuse_count_limit");
    import.mark_converted("smtp_connection_reuse_count_limit");
}

void sources(Import& import) {
    std::vector<std::string> out;
    const auto* all = own_smtp_transport(import, import.value("default_transport"));
    if (all && (all->own("smtp_bind_address") || all->own("smtp_bind_address6"))) { // written with its other settings
        for (const auto* name : {"smtp_bind_address", "smtp_bind_address6"}) {
            import.mark_converted(name);
            if (all->own(name)) is_of_another_transport(import, name, all);
        }
        return;
    }
    for (const auto* name : {"smtp_bind_address", "smtp_bind_address6"}) {
        const auto text = import.value(name);
        import.mark_converted(name);
        if (text.empty() || text == "0.0.0.0" || text == "::") continue; // the system chooses
        if (common::IpAddress::parse(text))
            out.push_back(text);
        else
            import.mark_unsupported(name, fmt::format("\"{}\" is not a numeric IP address", text));
    }
    if (out.empty()) return;
    const std::string_view from = import.given("smtp_bind_address") ? "smtp_bind_address" : "smtp_bind_address6";
    import.set("pool.postfix.addresses", toml(out), from);
    if (!import.words("transport_maps").empty())
        import.add_remark(from, "mail that a transport table sends to a host leaves from an address that the system "
                                "chooses: let the table name a [route] that has pool = \"postfix\"");
    everywhere(import);
    for (const auto& section : import.draft.sections("route.")) {
        const auto* hop = import.draft.find(section + ".next_hop");
        const bool here =
            hop && (hop->value.contains("lmtp:") || hop->value.contains("[127.") || hop->value.contains("[::1]"));
        if (import.sources_by_system.contains(section)) continue;
        if (!here && !import.draft.find(section + ".pool")) import.draft.set(section + ".pool", toml("postfix"));
    }
}

} // namespace

void import_sending(Import& import) {
    relayhost(import);
    fallback(import);
    relay_transport(import);
    if (import.error) return;
    import_tls_policies(import);
    limits(import);
    if (const auto* own = own_smtp_transport(import, import.value("default_transport")))
        import_settings_of_transport(import, *own, "*");
    sources(import);
    import.mark_converted("smtp_tls_wrappermode");
    if (import.flag("smtp_tls_wrappermode")) {
        const auto* hop = import.draft.find("route.\"*\".next_hop");
        if (hop && hop->value.find('[') != hop->value.npos)
            import.set("route.\"*\".implicit_tls", "true", "smtp_tls_wrappermode");
        else
            import.mark_unsupported(
                "smtp_tls_wrappermode",
                "set implicit_tls = true in the [route] with that next hop; it requires hosts in brackets",
                IfLost::harmless); // mail waits
    }
    import.mark_converted("disable_dns_lookups");
    if (import.flag("disable_dns_lookups"))
        import.mark_unsupported("disable_dns_lookups", "give next hops as addresses or names in brackets; MX records "
                                                       "of other domains are always looked up");
    for (const auto& word : import.words("smtp_discard_ehlo_keywords")) {
        if (word == "pipelining")
            import.set("smtp_client.pipelining", "false", "smtp_discard_ehlo_keywords");
        else if (word == "chunking")
            import.set("smtp_client.chunking", "false", "smtp_discard_ehlo_keywords");
        else if (word != "silent-discard")
            import.mark_unsupported("smtp_discard_ehlo_keywords", fmt::format("\"{}\" has no counterpart", word));
    }
    import.mark_converted("smtp_discard_ehlo_keywords");
}

} // namespace postrider
