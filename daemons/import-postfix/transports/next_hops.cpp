#include "daemons/import-postfix/transports/next_hops.h"
#include "daemons/common/net/network.h"
#include "daemons/common/net/service_address.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/postfix/pipe_program.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace postrider {

using decide::NextHop;

std::optional<std::string> next_hop(std::string_view text) {
    const auto hop = postfix::destination_of(text);
    if (!hop || hop->path) return {};
    const bool address = common::IpAddress::parse(hop->host).has_value();
    auto out = hop->brackets || address ? fmt::format("[{}]", hop->host) : hop->host;
    if (hop->port != 0 && hop->port != 25) out += fmt::format(":{}", hop->port);
    const auto parsed = NextHop::parse(out);
    return parsed ? std::optional(parsed->to_string()) : std::nullopt;
}

// Does the service of type inet, "127.0.0.1:10031" or "10031", listen there?
static bool listens_at(Import& import, const postfix::Service& service, const postfix::Destination& place) {
    const auto colon = service.name.rfind(':');
    auto host = colon == std::string::npos ? std::string_view() : std::string_view(service.name).substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const auto port =
        postfix::port_of(std::string_view(service.name).substr(colon == std::string::npos ? 0 : colon + 1));
    const auto here = [](std::string_view name) { return name == "localhost" || name == "127.0.0.1" || name == "::1"; };
    const auto everywhere = host.empty() || host == "0.0.0.0" || host == "::";
    const auto address = common::IpAddress::parse(place.host);
    const auto of_this_host = [&] {
        return here(place.host) || smtp::same_ignoring_case(place.host, import.value("myhostname")) ||
               (address && (address->is_loopback() ||
                            std::ranges::any_of(import.environment.interfaces,
                                                [&](const auto& each) { return each.address == *address; })));
    };
    return port && *port == place.port &&
           (host == place.host || (address && common::IpAddress::parse(host) == address) ||
            (here(host) && here(place.host)) || (everywhere && of_this_host()));
}

std::optional<std::string> record_spawned(Import& import, const postfix::Destination& place) {
    const auto service = std::ranges::find_if(import.services, [&](const auto& each) {
        if (each.command != "spawn") return false;
        if (!place.path) return each.type == "inet" && listens_at(import, each, place);
        const auto path = import.queue_path(place.host);
        return each.type == "unix" &&
               (path == import.queue_path("private/" + each.name) || path == import.queue_path("public/" + each.name));
    });
    if (service == import.services.end()) return {};
    const auto socket = place.path ? fmt::format("/run/{}.sock", service->name) : service->name;
    import.record_unguarded(
        *service, "spawn",
        fmt::format("Postrider does not start such programs: let systemd start it for each connection to {}, as "
                    "\"Programs that spawn starts\" in postrider-from-postfix(7) shows. Until then mail is rejected "
                    "temporarily, or waits",
                    socket));
    return place.path ? std::optional(socket) : std::nullopt;
}

std::optional<std::string> lmtp_hop(Import& import, std::string_view text) {
    const auto hop = postfix::destination_of(text);
    if (!hop) return {};
    const auto spawned = record_spawned(import, *hop);
    auto out =
        hop->path ? "lmtp:" + spawned.value_or(import.queue_path(hop->host)) : fmt::format("lmtp:[{}]", hop->host);
    if (!hop->path && hop->port != 0) out += fmt::format(":{}", hop->port);
    const auto parsed = NextHop::parse(out);
    return parsed ? std::optional(parsed->to_string()) : std::nullopt;
}

bool keeps_mail_from_leaving(std::string_view transport) {
    const auto name = transport.substr(0, transport.find(':'));
    return name == "error" || name == "retry" || name == "discard";
}

std::optional<std::string> service_address(Import& import, std::string_view text) {
    const auto place = postfix::destination_of(text);
    if (!place) return {};
    std::string address;
    if (auto spawned = record_spawned(import, *place)) return "unix:" + *spawned;
    if (place->path)
        address = "unix:" + import.queue_path(place->host);
    else if (place->host.find(':') != std::string::npos)
        address = fmt::format("inet:[{}]:{}", place->host, place->port);
    else
        address = fmt::format("inet:{}:{}", place->host == "localhost" ? "127.0.0.1" : place->host, place->port);
    return common::ServiceAddress::parse(address) ? std::optional(address) : std::nullopt;
}

bool is_used_transport(Import& import, const postfix::Service& service) {
    const auto is_it = [&](std::string_view value) {
        return value == service.name || value.starts_with(service.name + ":");
    };
    for (const auto* name : {"mailbox_transport", "virtual_transport", "default_transport", "relay_transport",
                             "local_transport", "fallback_transport", "smtpd_proxy_filter"})
        if (is_it(import.value(name))) return true;
    return is_named_by_transport_maps(import, service);
}

bool is_named_by_transport_maps(Import& import, const postfix::Service& service) {
    const auto is_it = [&](std::string_view value) {
        return value == service.name || value.starts_with(service.name + ":");
    };
    return std::ranges::any_of(tables_of(import, "transport_maps"), [&](const auto& word) {
        const auto type = postfix::parse_typed(word);
        const bool has_file = type && type->type != "static" && !type->name.starts_with('{');
        if (!type || (has_file && !import.environment.exists(import.resolved_path(type->name)))) return false;
        const auto lines = table_lines(import, "transport_maps", word);
        return lines &&
               std::ranges::any_of(*lines, [&](const auto& line) { return line.refusal.empty() && is_it(line.value); });
    });
}

std::vector<std::string> imported_programs(Import& import) {
    std::vector<std::string> out;
    for (const auto& service : import.services)
        if (service.command == "pipe" && service.type == "unix" && is_used_transport(import, service) &&
            !postfix::pipe_program(service).run.empty())
            out.push_back(service.name);
    return out;
}

std::string program_of_transport(Import& import, std::string_view transport) {
    const auto all = imported_programs(import);
    const auto found = std::ranges::find(all, transport.substr(0, transport.find(':')));
    return found == all.end() ? std::string() : *found;
}

void import_program(Import& import, const postfix::Service& service) {
    const auto program = postfix::pipe_program(service);
    if (program.run.empty())
        return import.record_service(service, SettingResult::Kind::unsupported,
                                     fmt::format("{}: write a [command.{}]", program.problem, service.name));
    const auto section = fmt::format("command.{}", service.name);
    const auto from = fmt::format("master.cf: {}", service.name);
    import.draft.set(section + ".run", toml(program.run), from);
    if (!program.user.empty()) import.draft.set(section + ".user", toml(program.user), from);
    if (program.from_line) import.draft.set(section + ".from_line", toml(true), from);
    if (program.null_sender != "MAILER-DAEMON")
        import.draft.set(section + ".null_sender", toml(program.null_sender), from);
    if (const auto limit = service.name + "_time_limit"; import.given(limit))
        if (const auto seconds = import.seconds(limit))
            import.set(section + ".timeout", toml(fmt::format("{}s", *seconds)), limit);
    import.record_service(service,
                          program.remarks.empty() ? SettingResult::Kind::converted : SettingResult::Kind::with_remark,
                          fmt::format("{}", fmt::join(program.remarks, "; ")));
}

} // namespace postrider
