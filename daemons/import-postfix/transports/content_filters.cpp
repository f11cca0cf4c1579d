#include "daemons/import-postfix/transports/content_filters.h"
#include "daemons/common/net/network.h"
#include "daemons/decide/routing/filter_destination.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/next_hops.h"
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
    if (const auto place = postfix::destination_of(where); place && !lmtp) record_spawned(import, *place);
    const auto hop = where.empty() ? std::nullopt : lmtp ? lmtp_hop(import, where) : next_hop(where);
    if (!hop || !(hop->starts_with("lmtp:") || hop->starts_with('[')))
        return std::unexpected(fmt::format("\"{}\" is not a host in brackets, such as [127.0.0.1]:10024", where));
    return *hop;
}

void set_route(Import& import, const Service& transport, const std::string& name, const std::string& hop) {
    const auto route = fmt::format("route.{}", toml(name));
    import.draft.set(route + ".next_hop", toml(hop),
                     fmt::format("{} {}, master.cf line {}", transport.name, transport.type, transport.line));
    if (const auto limit = postfix::number_of(transport.process_limit); limit && *limit > 0)
        import.draft.set(route + ".connections", fmt::format("{}", *limit));
}

// The transport's own; with a number if that has another next hop: mail of the listeners for users often goes to
// another port of the same filter.
std::string name_of_route(const Import& import, const Service& transport, const std::string& hop) {
    const auto own = smtp::lowered(transport.name);
    auto name = own;
    for (int number = 2;; ++number) {
        const auto* other = import.draft.find(fmt::format("route.{}.next_hop", toml(name)));
        if (!other || other->value == toml(hop)) return name;
        name = fmt::format("{}-{}", own, number);
    }
}

// The value of our key: a transport with a limit becomes a route.
std::expected<std::string, std::string> filter_of(Import& import, std::string_view value) {
    const auto hop = hop_of_filter(import, value);
    const auto* transport = transport_named(import, value.substr(0, value.find(':')));
    const auto limit = hop && transport ? postfix::number_of(transport->process_limit) : std::nullopt;
    if (!limit || *limit == 0) return hop;
    auto name = name_of_route(import, *transport, *hop);
    set_route(import, *transport, name, *hop);
    return name;
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

// --- where mail comes back

std::string key_of(const Import::Listener& listener, std::string_view key) {
    return fmt::format("listen.{}.{}", listener.name, key);
}

// Neither strangers nor users send there.
bool is_internal(const Import& import, const Import::Listener& listener) {
    const auto* addresses = import.draft.find(key_of(listener, "addresses"));
    if (!addresses || !listener.name.starts_with("port_")) return false; // 25, 465, 587
    const auto& text = addresses->value;
    const bool loopback = text.starts_with("[\"127.") || text.starts_with("[\"[::1]");
    const auto* auth = import.draft.find(key_of(listener, "auth"));
    return loopback || !auth || auth->value != "true";
}

// Where some mail gets a content filter from its listener, one that sets none and names its clients.
bool takes_back_from_listeners(Import& import, const Import::Listener& listener) {
    const auto* clients = import.draft.find(key_of(listener, "submission_networks"));
    return clients && clients->value != "[]" && listener.service->own(setting) == std::string_view() &&
           (!import.value(setting).empty() || std::ranges::any_of(import.services, [](const Service& each) {
               return each.own(setting).value_or("") != "";
           }));
}

// Where rules choose the filter, one that sets none, or does not apply the rules; the clients matter later.
bool takes_back_from_rules(Import& import, const Import::Listener& listener) {
    const auto options = listener.service->own("receive_override_options")
                             ? postfix::words_of(import.value(listener.values, "receive_override_options"))
                             : std::vector<std::string>{};
    const bool marked = listener.service->own(setting) == std::string_view() ||
                        std::ranges::find(options, "no_header_body_checks") != options.end();
    return marked && is_internal(import, listener);
}

// Where its filters send mail from, as TOML writes it: its own networks, or those that may relay.
std::string clients_of(Import& import, const Import::Listener& listener) {
    if (const auto* known = import.draft.find(key_of(listener, "submission_networks"))) return known->value;
    if (listener.submission) return "[]"; // with passwords only
    if (listener.service->own("mynetworks")) {
        std::vector<std::string> own;
        for (const auto& word :
             expanded_list(import, "mynetworks", postfix::words_of(import.value(listener.values, "mynetworks"))))
            if (common::Network::parse(word)) own.push_back(word);
        return toml(own);
    }
    const auto* all = import.draft.find("relay.networks");
    return all ? all->value : "[]";
}

void become_filtered(Import& import, const Import::Listener& listener) {
    const auto clients = clients_of(import, listener);
    if (clients == "[]")
        return import.record_unguarded(
            *listener.service, "mail that content filters send back",
            "no client is known to be one: set service = \"filtered\", and submission_networks to where filters send "
            "from, else FILTER applies to their mail again");
    import.draft.set(key_of(listener, "service"), toml("filtered"), "takes mail back from content filters");
    import.draft.set(key_of(listener, "submission_networks"), clients);
    import.draft.set(key_of(listener, "auth"), "false");
}

} // namespace

// Transports of master.cf are routes here; a table may say "amavis:[127.0.0.1]:10024" of one, whatever its next hop is.
static std::expected<std::string, std::string> filter_by_name(Import& import, std::string_view value) {
    const auto hop = hop_of_filter(import, value);
    const auto* transport = transport_named(import, value.substr(0, value.find(':')));
    if (!hop || !transport || transport->command != "smtp" || transport->name == "smtp" || transport->name == "relay")
        return hop;
    const auto by_name = decide::filter_destination(value);
    if (!by_name || decide::route_of_filter(*by_name).empty()) return hop;
    if (!import.draft.find(fmt::format("route.{}.next_hop", toml(smtp::lowered(transport->name)))))
        set_route(import, *transport, smtp::lowered(transport->name), *hop);
    return *by_name;
}

std::expected<std::string, std::string> imported_filter(Import& import, std::string_view value) {
    auto filter = filter_by_name(import, value);
    if (!filter) return filter;
    if (std::ranges::none_of(import.listeners, [&](const auto& each) { return takes_back_from_rules(import, each); }))
        return std::unexpected("no listener is known that takes the mail back: it would get to the filter again. Add "
                               "one with service = \"filtered\" for the filter to send to");
    import.names_filters = true;
    return filter;
}

bool is_named_by_filter(Import& import, const Service& service) {
    const auto says_it = [&](std::string_view text) {
        const auto lowered = smtp::lowered(text);
        constexpr std::string_view word = "filter";
        for (auto at = lowered.find(word); at != lowered.npos; at = lowered.find(word, at + 1))
            if (postfix::trimmed(text.substr(at + word.size())).starts_with(service.name + ":")) return true;
        return false;
    };
    // Of a setting that may have tables with FILTER, or entries beside the names of tables.
    const auto names_it = [&](const std::string& value) {
        return says_it(value) || std::ranges::any_of(postfix::words_of(value), [&](std::string_view word) {
                   while (word.starts_with("proxy:")) word.remove_prefix(6);
                   const auto type = postfix::parse_typed(word);
                   const auto place = type ? import.resolved_path(type->name) : "";
                   return type && import.environment.exists(place) &&
                          says_it(import.environment.read(place).value_or(""));
               });
    };
    const auto classes = import.words("smtpd_restriction_classes");
    const auto may_name = [&](std::string_view name) {
        return (name.ends_with("_checks") && !name.starts_with("smtp_") && !name.starts_with("lmtp_")) ||
               name.ends_with("_restrictions") || std::ranges::find(classes, name) != classes.end();
    };
    return std::ranges::any_of(
               import.values.all(),
               [&](const auto& each) { return may_name(each.first) && names_it(import.value(each.first)); }) ||
           std::ranges::any_of(import.services, [&](const Service& each) {
               return each.type == "inet" && std::ranges::any_of(each.overrides, [&](const auto& over) {
                          return may_name(over.name) &&
                                 names_it(import.value(
                                     import.values.of(each, import.environment.directory + "/master.cf"), over.name));
                      });
           });
}

void import_content_filters(Import& import) {
    import.mark_converted(setting);
    for (const auto& listener : import.listeners)
        if (takes_back_from_listeners(import, listener) ||
            (import.names_filters && takes_back_from_rules(import, listener)))
            become_filtered(import, listener);
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
