// content_filter, and FILTER of access tables and checks: mail that a filter behind the queue gets over SMTP or LMTP,
// and sends back to a listener of its own.
#include "daemons/decide/routing/filter_destination.h"
#include "daemons/import-postfix/conversion/import.h"
#include "daemons/import-postfix/conversion/next_hops.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <expected>
#include <fmt/format.h>

namespace postrider {

namespace {

using postfix::Service;

constexpr std::string_view setting = "content_filter";

const Service* transport_named(const Import& import, std::string_view name) {
    const auto found = std::ranges::find_if(
        import.services, [&](const Service& each) { return each.type == "unix" && each.name == name; });
    return found == import.services.end() ? nullptr : &*found;
}

// "smtp-amavis:[127.0.0.1]:10024": the host. The error: why there is none.
std::expected<std::string, std::string> hop_of_filter(Import& import, std::string_view value) {
    const auto colon = std::min(value.find(':'), value.size());
    const auto name = value.substr(0, colon), where = value.substr(std::min(colon + 1, value.size()));
    const auto* transport = transport_named(import, name);
    const auto command = transport ? std::string_view(transport->command) : name;
    const bool lmtp = command == "lmtp";
    if (!lmtp && command != "smtp" && command != "relay")
        return std::unexpected(command == "pipe"
                                   ? "a program behind the queue: run it as a [milter], or let it speak SMTP"
                                   : fmt::format("\"{}\" is not a transport that speaks SMTP", name));
    const auto hop = where.empty() ? std::nullopt : lmtp ? lmtp_hop(import, where) : next_hop(where);
    if (!hop || !(hop->starts_with("lmtp:") || hop->starts_with('[')))
        return std::unexpected(fmt::format("\"{}\" is not a host in brackets, such as [127.0.0.1]:10024", where));
    return *hop;
}

void set_route(Import& import, const Service& transport, const std::string& hop) {
    const auto route = fmt::format("route.{}", toml(smtp::lowered(transport.name)));
    import.draft.set(route + ".next_hop", toml(hop),
                     fmt::format("{} {}, master.cf line {}", transport.name, transport.type, transport.line));
    if (const auto limit = postfix::number_of(transport.process_limit); limit && *limit > 0)
        import.draft.set(route + ".connections", fmt::format("{}", *limit));
}

// The value of our key: a transport with a limit becomes a route.
std::expected<std::string, std::string> filter_of(Import& import, std::string_view value) {
    const auto hop = hop_of_filter(import, value);
    const auto* transport = transport_named(import, value.substr(0, value.find(':')));
    const auto limit = hop && transport ? postfix::number_of(transport->process_limit) : std::nullopt;
    if (!limit || *limit == 0) return hop;
    set_route(import, *transport, *hop);
    return smtp::lowered(transport->name);
}

// The filter of mail that this service takes.
void set_filter(Import& import, const Service* service, const std::string& value, const std::string& key) {
    const bool own = service && service->own(setting);
    if (value.empty()) return;
    const auto filter = filter_of(import, value);
    if (filter)
        return import.draft.set(key, toml(*filter),
                                own ? fmt::format("{} {}", service->name, setting) : "content_filter");
    if (own) return import.record_unguarded(*service, fmt::format("{} = {}", setting, value), filter.error());
    import.mark_unsupported(setting, filter.error());
}

} // namespace

// Transports of master.cf are routes here; a table may say "amavis:[127.0.0.1]:10024" of one, whatever its next hop is.
std::expected<std::string, std::string> imported_filter(Import& import, std::string_view value) {
    const auto hop = hop_of_filter(import, value);
    const auto* transport = transport_named(import, value.substr(0, value.find(':')));
    if (!hop || !transport || transport->command != "smtp" || transport->name == "smtp" || transport->name == "relay")
        return hop;
    const auto by_name = decide::filter_destination(value);
    if (!by_name || decide::route_of_filter(*by_name).empty()) return hop;
    if (!import.draft.find(fmt::format("route.{}.next_hop", toml(smtp::lowered(transport->name)))))
        set_route(import, *transport, *hop);
    return *by_name;
}

bool is_named_by_filter(Import& import, const Service& service) {
    const auto names_it = [&](const std::string& path) {
        const auto place = import.resolved_path(path);
        const auto text = import.environment.exists(place) ? import.environment.read(place) : "";
        const auto lowered = smtp::lowered(text.value_or(""));
        constexpr std::string_view word = "filter";
        for (auto at = lowered.find(word); at != lowered.npos; at = lowered.find(word, at + 1)) {
            const auto rest = postfix::trimmed(std::string_view(*text).substr(at + word.size()));
            if (rest.starts_with(service.name + ":")) return true;
        }
        return false;
    };
    const auto classes = import.words("smtpd_restriction_classes");
    return std::ranges::any_of(import.values.all(), [&](const auto& each) {
        const auto& name = each.first;
        if (!name.ends_with("_checks") && !name.ends_with("_restrictions") &&
            std::ranges::find(classes, name) == classes.end())
            return false;
        return std::ranges::any_of(import.words(name), [&](const auto& word) {
            const auto type = postfix::parse_typed(word);
            return type && type->type != "inline" && type->name.starts_with('/') && names_it(type->name);
        });
    });
}

// A listener that takes mail back sets no filter where others have one.
bool takes_mail_back(Import& import, const Import::Listener& listener) {
    return listener.service->own(setting) == std::string_view() &&
           (!import.value(setting).empty() || std::ranges::any_of(import.services, [](const Service& each) {
               return each.own(setting).value_or("") != "";
           }));
}

void import_content_filters(Import& import) {
    import.mark_converted(setting);
    for (const auto& listener : import.listeners) {
        const auto key = fmt::format("listen.{}", listener.name);
        const auto* clients = import.draft.find(key + ".submission_networks");
        if (clients && clients->value != "[]" && takes_mail_back(import, listener)) {
            import.draft.set(key + ".service", toml("filtered"), "content_filter =");
            import.draft.set(key + ".auth", "false");
        }
    }
    for (const auto& listener : import.listeners)
        if (import.draft.find(fmt::format("listen.{}.addresses", listener.name)))
            set_filter(import, listener.service, import.value(listener.values, setting),
                       fmt::format("listen.{}.{}", listener.name, setting));
    const auto pickup = std::ranges::find(import.services, "pickup", &Service::command);
    const auto* programs = pickup == import.services.end() ? nullptr : &*pickup;
    const auto own = programs ? programs->own(setting) : std::nullopt;
    set_filter(import, programs, own ? std::string(*own) : import.value(setting), fmt::format("submit.{}", setting));
}

} // namespace postrider
