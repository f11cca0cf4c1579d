// content_filter: mail that a filter behind the queue gets over SMTP or LMTP, and sends back to a listener of its own.
#include "daemons/import-postfix/conversion/import.h"
#include "daemons/import-postfix/conversion/next_hops.h"
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

// "smtp-amavis:[127.0.0.1]:10024": the value of our key. The error: why there is none.
std::expected<std::string, std::string> filter_of(Import& import, std::string_view value) {
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
    const auto limit = transport ? postfix::number_of(transport->process_limit) : std::nullopt;
    if (!limit || *limit == 0) return *hop;
    const auto route = fmt::format("route.\"{}\"", name);
    import.draft.set(route + ".next_hop", toml(*hop),
                     fmt::format("{} {}, master.cf line {}", transport->name, transport->type, transport->line));
    import.draft.set(route + ".connections", fmt::format("{}", *limit));
    return std::string(name);
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
