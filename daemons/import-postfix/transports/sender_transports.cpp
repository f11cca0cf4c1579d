#include "daemons/import-postfix/transports/sender_transports.h"
#include "daemons/common/net/network.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include "daemons/import-postfix/transports/smtp_transports.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr std::string_view transports_by_sender = "sender_dependent_default_transport_maps";

bool is_readable(Import& import, std::string_view word) {
    const auto type = postfix::parse_typed(word);
    return type && type->type != "regexp" && type->type != "pcre" &&
           (type->type == "inline" || import.environment.exists(import.resolved_path(type->name)));
}

std::string own_value(Import& import, const postfix::Service& service, std::string_view name) {
    const bool own = std::ranges::find(service.overrides, name, &postfix::Setting::name) != service.overrides.end();
    return own ? import.value(import.values.of(service, import.environment.directory + "/master.cf"), name) : "";
}

// As [pool] has them; empty: the transport has none, or more than source addresses.
std::vector<std::string> source_addresses(Import& import, const postfix::Service& service) {
    if (service.command != "smtp" || service.type != "unix") return {};
    std::vector<std::string> out;
    for (const auto& over : service.overrides) {
        const auto* row = mapping_of(over.name);
        const bool source = over.name == "smtp_bind_address" || over.name == "smtp_bind_address6" ||
                            over.name == "smtp_helo_name" || over.name == "syslog_name";
        if (row && !source && row->conversion != Conversion::obsolete) return {};
    }
    const auto helo = own_value(import, service, "smtp_helo_name");
    for (const auto* name : {"smtp_bind_address", "smtp_bind_address6"}) {
        const auto address = own_value(import, service, name);
        if (address.empty()) continue;
        if (!common::IpAddress::parse(address)) return {};
        out.push_back(helo.empty() ? address : fmt::format("{} {}", address, helo));
    }
    const bool valid_name = service.name.size() <= 64 && std::ranges::all_of(service.name, [](char c) {
                                return c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c));
                            });
    return valid_name ? out : std::vector<std::string>{};
}

bool has_limits(Import& import, const postfix::Service& service) {
    return std::ranges::any_of(std::initializer_list<const char*>{"concurrency_limit", "rate_delay"}, [&](auto limit) {
        return import.given(fmt::format("{}_destination_{}", service.name, limit));
    });
}

// A pool has no limits, and comes before what transport tables say of the recipient: then it is a route.
bool is_only_source_addresses(Import& import, const postfix::Service& service) {
    return import.value("transport_maps").empty() && !has_limits(import, service) &&
           !source_addresses(import, service).empty();
}

// "bulk:[out.example]": the transport, and the next hop.
std::pair<std::string, std::string> parts_of(std::string_view value) {
    const auto colon = std::min(value.find(':'), value.size());
    return {std::string(value.substr(0, colon)), std::string(value.substr(std::min(colon + 1, value.size())))};
}

class SenderTransports {
public:
    explicit SenderTransports(Import& import) : import_(import) {}

    void add(const postfix::Entry& entry) {
        const auto [transport, text] = parts_of(entry.value);
        const auto lost = [&](std::string_view why) {
            import_.mark_unsupported(transports_by_sender,
                                     fmt::format("\"{} {}\": {}", entry.key, postfix::excerpt(entry.value), why));
        };
        if (entry.value == "DUNNO") return;
        if (entry.key.find('@') == entry.key.npos || entry.key.find_first_of(" \t") != entry.key.npos)
            return lost("only addresses and \"@domain\" have a counterpart");
        const auto hop = text.empty() ? std::nullopt : next_hop(text);
        if (!text.empty() && !hop) return lost("not a supported next hop");
        if (!transport.empty() && transport != "smtp" && transport != "relay") {
            const auto service = std::ranges::find_if(
                import_.services, [&](const auto& each) { return each.type == "unix" && each.name == transport; });
            if (service != import_.services.end() && becomes_route(import_, *service)) {
                as_all_mail(*service);
                return hops_.push_back(fmt::format("{} {}:{}", entry.key, smtp::lowered(transport), hop.value_or("")));
            }
            const auto addresses =
                service == import_.services.end() ? std::vector<std::string>{} : source_addresses(import_, *service);
            if (addresses.empty())
                return lost(
                    "the transport has more than source addresses of its own: what it sets has no counterpart by "
                    "sender; [pools] by_sender selects source addresses, sender_relay.tables next hops");
            import_.draft.set(fmt::format("pool.{}.addresses", transport), toml(addresses),
                              fmt::format("{} unix, master.cf line {}", service->name, service->line));
            pools_.push_back(fmt::format("{} {}", entry.key, transport));
        }
        if (hop) hops_.push_back(fmt::format("{} {}", entry.key, *hop));
    }

    void write() {
        if (!pools_.empty()) import_.set("pools.by_sender", toml(pools_), transports_by_sender);
        if (hops_.empty()) return;
        import_.draft.set("table.sender_transports.kind", toml("entries"), transports_by_sender);
        import_.draft.set("table.sender_transports.entries", toml(hops_));
        // Before those of sender_dependent_relayhost_maps, as in Postfix.
        const auto* others = import_.draft.find("sender_relay.tables");
        const auto rest = others ? ", " + others->value.substr(1) : std::string("]");
        import_.draft.set("sender_relay.tables", fmt::format("[{}{}", toml("table:sender_transports"), rest),
                          others ? fmt::format("{}; {}", transports_by_sender, others->origin)
                                 : std::string(transports_by_sender));
    }

private:
    // "slow:" in transport_maps means the recipient's domain; for a sender, the relay host if there is one.
    void as_all_mail(const postfix::Service& service) {
        const auto* all = import_.draft.find("route.\"*\".next_hop");
        if (all && !import_.words("relayhost").empty() && !is_named_by_transport_maps(import_, service))
            import_.draft.set(fmt::format("route.{}.next_hop", toml(smtp::lowered(service.name))), all->value,
                              "relayhost");
    }

    Import& import_;
    std::vector<std::string> pools_, hops_; // "@news.example bulk"
};

} // namespace

bool is_pool_for_senders(Import& import, const postfix::Service& service) {
    return is_only_source_addresses(import, service) && is_named_for_senders(import, service);
}

bool is_named_for_senders(Import& import, const postfix::Service& service) {
    return std::ranges::any_of(import.words(transports_by_sender), [&](const auto& word) {
        const auto entries =
            is_readable(import, word) ? table_entries(import, transports_by_sender, word) : std::nullopt;
        return entries && std::ranges::any_of(
                              *entries, [&](const auto& entry) { return parts_of(entry.value).first == service.name; });
    });
}

void import_sender_transports(Import& import) {
    import.mark_converted(transports_by_sender);
    SenderTransports transports(import);
    for (const auto& word : import.words(transports_by_sender)) {
        const auto entries =
            is_readable(import, word) ? table_entries(import, transports_by_sender, word) : std::nullopt;
        if (!entries)
            import.mark_unsupported(transports_by_sender,
                                    fmt::format("{}: list its senders in [pools] by_sender where the transport only "
                                                "has a source address of its own, or in sender_relay.tables where "
                                                "it has a next hop",
                                                word));
        for (const auto& entry : entries ? *entries : std::vector<postfix::Entry>{}) transports.add(entry);
    }
    transports.write();
}

} // namespace postrider
