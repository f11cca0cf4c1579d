#include "daemons/import-postfix/transports/smtp_transports.h"
#include "daemons/common/net/network.h"
#include "daemons/decide/routing/route_name.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include "daemons/import-postfix/transports/sender_transports.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

using postfix::Service;
using postfix::Setting;

class RouteOfTransport {
public:
    // `pattern`: of its section.
    RouteOfTransport(Import& import, const Service& service, std::string_view pattern)
        : import_(import), service_(service), name_(smtp::lowered(service.name)),
          section_(fmt::format("route.{}", toml(std::string(pattern)))),
          values_(import.values.of(service, import.environment.directory + "/master.cf")) {}

    void write() {
        import_.record_service(service_, SettingResult::Kind::converted);
        if (!import_.draft.find(section_ + ".next_hop")) set("next_hop", toml("mx"));
        for (const auto& over : service_.overrides) add(over);
        source();
        limits();
    }

private:
    std::string own(std::string_view name) { return import_.value(values_, name); }

    void set(std::string_view key, std::string value) {
        import_.draft.set(fmt::format("{}.{}", section_, key), std::move(value),
                          fmt::format("{} {}, master.cf line {}", service_.name, service_.type, service_.line));
    }

    void add(const Setting& over) {
        const auto& name = over.name;
        if (name == "smtp_bind_address" || name == "smtp_bind_address6" || name == "smtp_helo_name" ||
            name == "syslog_name")
            return; // below
        if (name.find("_destination_") != name.npos)
            return import_.record_service(
                service_, SettingResult::Kind::with_remark,
                fmt::format("-o {}: Postfix ignores it there, and reads {}_destination_… in main.cf", name,
                            service_.name));
        if (name == "smtp_tls_security_level") return level(over);
        if (name == "smtp_generic_maps") return generic(over);
        if (name == "smtp_fallback_relay") return fallback(over);
        if (name.ends_with("cert_file") || name.ends_with("key_file") || name == "smtp_tls_chain_files")
            return import_.record_service(
                service_, SettingResult::Kind::unsupported,
                fmt::format("-o {}: set tls_certificates and tls_keys of {}", name, section_));
        import_.record_override(service_, over, "a [route] has no such setting: it is that of all mail");
    }

    void level(const Setting& over) {
        auto level = own(over.name);
        if (level.empty()) level = "none";
        if (level == "secure" || level == "fingerprint") {
            import_.record_unguarded(service_, fmt::format("{} = {}", over.name, level),
                                     "it is treated as verify: the certificate must match the host's name");
            level = "verify";
        }
        set("tls", toml(level));
    }

    void generic(const Setting& over) {
        std::vector<std::string> tables;
        for (const auto& word : postfix::words_of(own(over.name)))
            if (const auto table = converted_table(import_, over.name, word)) tables.push_back(*table);
        set("generic_tables", toml(tables));
    }

    void fallback(const Setting& over) {
        std::vector<std::string> hops;
        for (const auto& word : postfix::words_of(own(over.name)))
            if (const auto hop = next_hop(word); hop && hop->starts_with('['))
                hops.push_back(*hop);
            else
                import_.record_service(service_, SettingResult::Kind::unsupported,
                                       fmt::format("-o {}: \"{}\": write the host in brackets", over.name, word));
        if (!hops.empty()) set("fallback", toml(hops));
    }

    // Its source addresses become a pool of the same name, main.cf's that of all mail.
    void source() {
        const auto has = [&](std::string_view name) {
            return std::ranges::find(service_.overrides, name, &Setting::name) != service_.overrides.end();
        };
        const auto helo = has("smtp_helo_name") ? own("smtp_helo_name") : std::string();
        if (helo.empty() && !has("smtp_bind_address") && !has("smtp_bind_address6")) return; // see sources()
        std::vector<std::string> addresses;
        for (const auto* name : {"smtp_bind_address", "smtp_bind_address6"}) {
            const auto address = own(name);
            if (address.empty() || address == "0.0.0.0" || address == "::") continue;
            if (common::IpAddress::parse(address))
                addresses.push_back(helo.empty() ? address : fmt::format("{} {}", address, helo));
            else
                import_.record_service(service_, SettingResult::Kind::unsupported,
                                       fmt::format("-o {}: \"{}\" is not a numeric IP address", name, address));
        }
        if (addresses.empty()) {
            import_.sources_by_system.insert(section_);
            if (!helo.empty())
                import_.record_service(
                    service_, SettingResult::Kind::unsupported,
                    "-o smtp_helo_name: names of our own belong to source addresses: write a [pool]");
            return;
        }
        const auto pool = fmt::format("pool.{}.addresses", name_);
        if (!import_.draft.find(pool)) import_.draft.set(pool, toml(addresses), service_.name);
        set("pool", toml(name_));
    }

    // NAME_destination_… of main.cf; and how many processes there are for all destinations together.
    void limits() {
        std::optional<std::uint64_t> connections;
        const auto limit = service_.name + "_destination_concurrency_limit";
        if (import_.given(limit)) {
            import_.mark_converted(limit);
            if (const auto number = import_.number(limit); number && *number > 0) connections = *number;
        }
        const auto delay = service_.name + "_destination_rate_delay";
        const auto pause = import_.given(delay) ? import_.seconds(delay) : std::nullopt;
        if (pause) import_.mark_converted(delay);
        if (pause && *pause > 0) {
            connections = 1; // as the delay has it
            if (*pause == 1)
                set("messages_per_second", "1");
            else
                set("messages_per_hour", toml(std::max<std::uint64_t>(3600 / *pause, 1)));
        }
        const auto processes = postfix::number_of(service_.process_limit);
        if (processes && *processes > 0) {
            if (!connections || *processes < *connections) connections = *processes;
            import_.record_service(service_, SettingResult::Kind::with_remark,
                                   fmt::format("its {} processes served all destinations; connections = {} is the "
                                               "limit for each",
                                               *processes, *connections));
        }
        if (connections) set("connections", toml(*connections));
    }

    Import& import_;
    const Service& service_;
    const std::string name_, section_;
    const postfix::Values values_;
};

} // namespace

bool becomes_route(Import& import, const Service& service) {
    if (service.command != "smtp" || service.type != "unix" || !decide::is_route_name(smtp::lowered(service.name)))
        return false;
    return is_named_by_transport_maps(import, service) ||
           (is_named_for_senders(import, service) && !is_pool_for_senders(import, service));
}

std::vector<std::string> imported_routes(Import& import) {
    std::vector<std::string> out;
    for (const auto& service : import.services)
        if (becomes_route(import, service)) out.push_back(smtp::lowered(service.name));
    return out;
}

void import_route_of_transport(Import& import, const Service& service) {
    RouteOfTransport(import, service, smtp::lowered(service.name)).write();
}

const Service* own_smtp_transport(const Import& import, std::string_view transport) {
    const auto name = transport.substr(0, transport.find(':'));
    if (name == "smtp" || name == "relay" || name == "lmtp") return nullptr;
    const auto found = std::ranges::find_if(import.services, [&](const Service& each) {
        return each.type == "unix" && each.name == name && (each.command == "smtp" || each.command == "lmtp");
    });
    return found == import.services.end() ? nullptr : &*found;
}

void import_settings_of_transport(Import& import, const Service& service, std::string_view pattern) {
    RouteOfTransport(import, service, pattern).write();
}

std::vector<std::string> next_hops_of_transport(Import& import, std::string_view transport) {
    const auto colon = std::min(transport.find(':'), transport.size());
    const auto name = transport.substr(0, colon), where = transport.substr(std::min(colon + 1, transport.size()));
    const auto* own = own_smtp_transport(import, transport);
    const auto command = own ? std::string_view(own->command) : name;
    if (command != "lmtp" && command != "smtp" && command != "relay") return {};
    std::vector<std::string> out;
    for (const auto& word : postfix::words_of(where)) {
        if (const auto place = postfix::destination_of(word); place && command != "lmtp")
            record_spawned(import, *place);
        auto hop = command == "lmtp" ? lmtp_hop(import, word) : next_hop(word);
        if (!hop) return {};
        out.push_back(*std::move(hop));
    }
    return out;
}

std::string next_hop_of_transport(Import& import, std::string_view transport) {
    auto all = next_hops_of_transport(import, transport);
    return all.size() == 1 ? std::move(all.front()) : std::string();
}

} // namespace postrider
