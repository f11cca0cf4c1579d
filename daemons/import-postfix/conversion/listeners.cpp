// Services of type inet in master.cf become listeners.
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/networks.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/postfix/restriction_lists.h"
#include "daemons/import-postfix/transports/content_filters.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include "daemons/import-postfix/transports/sender_transports.h"
#include "daemons/import-postfix/transports/smtp_transports.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

using postfix::Service;
using Kind = SettingResult::Kind;

namespace {

// "127.0.0.1:submission", "[::1]:25", "smtp": host and port.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
};
std::optional<Endpoint> parse_endpoint(std::string_view name) {
    const auto colon = name.rfind(':');
    const auto port = postfix::port_of(colon == name.npos ? name : name.substr(colon + 1));
    if (!port) return {};
    auto host = colon == name.npos ? std::string_view() : name.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return Endpoint{std::string(host), *port};
}

std::string endpoint(std::string_view host, std::uint16_t port) {
    return host.find(':') != host.npos ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

// Where a service without an address listens.
std::vector<std::string> usual_addresses(Import& import, const Endpoint& at) {
    const auto protocols = import.words("inet_protocols");
    const auto has = [&](std::string_view word) { return std::ranges::find(protocols, word) != protocols.end(); };
    const bool v4 = has("all") || has("ipv4"), v6 = has("all") || has("ipv6");
    std::vector<std::string> out;
    for (const auto& word : import.words("inet_interfaces")) {
        if (word == "all") {
            out.push_back(v4 && v6 ? fmt::format("*:{}", at.port) : endpoint(v4 ? "0.0.0.0" : "::", at.port));
        } else if (word == "loopback-only" || word == "localhost" || word == "$myhostname") {
            if (v4) out.push_back(endpoint("127.0.0.1", at.port));
            if (v6) out.push_back(endpoint("::1", at.port));
        } else {
            auto bare = std::string_view(word);
            if (bare.starts_with('[') && bare.ends_with(']')) bare = bare.substr(1, bare.size() - 2);
            if (const auto address = common::IpAddress::parse(bare)) {
                if (address->is_v4() ? v4 : v6) out.push_back(endpoint(bare, at.port));
            } else {
                import.mark_unsupported(
                    "inet_interfaces",
                    fmt::format("\"{}\" is not a numeric IP address: set one in listen.NAME.addresses", word),
                    IfLost::harmless);
            }
        }
    }
    import.mark_converted("inet_interfaces"), import.mark_converted("inet_protocols");
    return out;
}

std::string name_for(const Import& import, const Endpoint& at, std::string_view host) {
    auto name = at.port == 25    ? std::string("smtp")
                : at.port == 587 ? "submission"
                : at.port == 465 ? "submissions"
                                 : fmt::format("port_{}", at.port);
    if (!host.empty() && std::ranges::find(import.listeners, name, &Import::Listener::name) != import.listeners.end())
        name += "_2";
    while (std::ranges::find(import.listeners, name, &Import::Listener::name) != import.listeners.end()) name += "x";
    return name;
}

// The -o settings of a service that are understood here; the rest is reported for the service.
constexpr std::string_view handled_overrides[] = {"smtpd_tls_security_level",
                                                  "smtpd_tls_wrappermode",
                                                  "smtpd_use_tls",
                                                  "smtpd_enforce_tls",
                                                  "smtpd_sasl_auth_enable",
                                                  "smtpd_sasl_type",
                                                  "smtpd_sasl_path",
                                                  "smtpd_tls_auth_only",
                                                  "smtpd_sasl_security_options",
                                                  "smtpd_sasl_tls_security_options",
                                                  "smtpd_sender_login_maps",
                                                  "postscreen_greet_action",
                                                  "postscreen_greet_wait",
                                                  "postscreen_greet_ttl",
                                                  "postscreen_dnsbl_action",
                                                  "postscreen_dnsbl_sites",
                                                  "postscreen_dnsbl_threshold",
                                                  "postscreen_dnsbl_allowlist_threshold",
                                                  "postscreen_dnsbl_whitelist_threshold",
                                                  "postscreen_dnsbl_ttl",
                                                  "postscreen_dnsbl_max_ttl",
                                                  "postscreen_dnsbl_min_ttl",
                                                  "postscreen_dnsbl_timeout",
                                                  "postscreen_pipelining_enable",
                                                  "postscreen_pipelining_action",
                                                  "postscreen_pipelining_ttl",
                                                  "postscreen_non_smtp_command_enable",
                                                  "postscreen_non_smtp_command_action",
                                                  "postscreen_non_smtp_command_ttl",
                                                  "postscreen_bare_newline_enable",
                                                  "postscreen_bare_newline_action",
                                                  "postscreen_bare_newline_ttl",
                                                  "postscreen_access_list",
                                                  "postscreen_denylist_action",
                                                  "postscreen_blacklist_action",
                                                  "postscreen_cache_retention_time",
                                                  "postscreen_pre_queue_limit",
                                                  "syslog_name",
                                                  "milter_macro_daemon_name",
                                                  "smtpd_milters",
                                                  "message_size_limit",
                                                  "smtpd_recipient_limit",
                                                  "smtpd_client_restrictions",
                                                  "smtpd_helo_restrictions",
                                                  "smtpd_sender_restrictions",
                                                  "smtpd_recipient_restrictions",
                                                  "smtpd_relay_restrictions",
                                                  "smtpd_data_restrictions",
                                                  "smtpd_end_of_data_restrictions",
                                                  "smtpd_etrn_restrictions",
                                                  "smtpd_reject_unlisted_recipient",
                                                  "smtpd_delay_reject",
                                                  "cleanup_service_name",
                                                  "smtpd_authorized_xclient_hosts",
                                                  "smtpd_authorized_xforward_hosts",
                                                  "smtpd_tls_ask_ccert",
                                                  "smtpd_tls_req_ccert",
                                                  "smtpd_upstream_proxy_protocol",
                                                  "smtputf8_enable",
                                                  "disable_vrfy_command",
                                                  "mynetworks",
                                                  "content_filter",
                                                  "receive_override_options",
                                                  "smtpd_client_connection_count_limit"};

std::vector<std::string> networks_in(Import& import, const Import::Listener& listener, std::string_view name) {
    std::vector<std::string> out;
    for (const auto& word : expanded_list(import, name, postfix::words_of(import.value(listener.values, name))))
        if (common::Network::parse(word))
            out.push_back(word);
        else
            import.record_service(*listener.service, Kind::with_remark,
                                  fmt::format("{}: \"{}\" is not a numeric network; omitted", name, word));
    import.mark_converted(name);
    return without_duplicates(out);
}

bool flag_is_set(Import& import, const Import::Listener& listener, std::string_view name) {
    return postfix::flag_of(import.value(listener.values, name)).value_or(false);
}

void tls(Import& import, const Import::Listener& listener, const std::string& key, bool wrapped) {
    auto level = import.value(listener.values, "smtpd_tls_security_level");
    if (level.empty())
        level = flag_is_set(import, listener, "smtpd_enforce_tls") ? "encrypt"
                : flag_is_set(import, listener, "smtpd_use_tls")   ? "may"
                                                                   : "none";
    const bool certificate = import.draft.find("tls.certificates") != nullptr;
    // Postfix takes levels that only make sense for clients as the nearest one that does.
    const bool required = level == "encrypt" || level == "verify" || level == "secure" || level == "fingerprint";
    const bool offered = level == "may" || level == "dane" || level == "dane-only";
    std::string tls = wrapped ? "implicit" : required ? "require" : offered ? "offer" : "no";
    if (!certificate && tls == "offer")
        tls = "no"; // as in Postfix; the requirements stay, and check reports what is missing
    import.draft.set(key + ".tls", toml(tls), fmt::format("smtpd_tls_security_level = {}", level));
    for (const auto* name : {"smtpd_tls_security_level", "smtpd_use_tls", "smtpd_enforce_tls", "smtpd_tls_wrappermode",
                             "smtpd_tls_auth_only", "smtpd_sasl_auth_enable"})
        import.mark_converted(name);
    bool auth = flag_is_set(import, listener, "smtpd_sasl_auth_enable");
    if (!import.draft.find("auth.dovecot")) auth = false; // reported at smtpd_sasl_auth_enable
    import.draft.set(key + ".auth", toml(auth), "smtpd_sasl_auth_enable");
    const auto* only = listener.values.given("smtpd_tls_auth_only");
    if (auth && tls == "no" && flag_is_set(import, listener, "smtpd_tls_auth_only")) {
        import.draft.set(key + ".auth", "false", "smtpd_tls_auth_only");
        import.record_service(*listener.service, Kind::with_remark,
                              "AUTH is off: smtpd_tls_auth_only requires TLS for it, but TLS is not configured");
        auth = false;
    }
    const auto options = postfix::words_of(import.value(listener.values, "smtpd_sasl_security_options"));
    const bool never_plain = std::ranges::find(options, "noplaintext") != options.end(); // without TLS
    if (auth && tls == "no" && never_plain) {
        import.draft.set(key + ".auth", "false", "smtpd_sasl_security_options");
        import.record_service(
            *listener.service, Kind::with_remark,
            "AUTH is off: smtpd_sasl_security_options forbids passwords in plain text, but TLS is not "
            "configured");
        auth = false;
    }
    if (auth && !never_plain && !flag_is_set(import, listener, "smtpd_tls_auth_only") && (only || tls == "no") &&
        tls != "require" && tls != "implicit") {
        import.draft.set(key + ".auth_without_tls", "true", "smtpd_tls_auth_only");
        if (!only)
            import.record_service(*listener.service, Kind::with_remark,
                                  "passwords may be sent in plain text, as in Postfix: set tls.certificates, and "
                                  "auth_without_tls to false");
    }
    const bool demanded = flag_is_set(import, listener, "smtpd_tls_req_ccert");
    if (demanded || flag_is_set(import, listener, "smtpd_tls_ask_ccert"))
        import.draft.set(key + ".client_certificates", certificate ? "true" : "false",
                         demanded ? "smtpd_tls_req_ccert" : "smtpd_tls_ask_ccert");
    // As in Postfix, it has no effect unless TLS is required.
    if (demanded && (tls == "require" || tls == "implicit")) {
        import.draft.set(key + ".client_certificate_required", "true", "smtpd_tls_req_ccert");
        if (!import.given("smtpd_tls_CAfile"))
            import.mark_unguarded("smtpd_tls_req_ccert", listener.name,
                                  "no certificate can be verified: put the certificates of the authorities into one "
                                  "file, tls.client_ca_file");
    }
    import.mark_converted("smtpd_tls_ask_ccert");
    import.mark_converted("smtpd_tls_req_ccert");
}

// A cleanup service of master.cf that does not have the usual name: only what its line sets makes a difference.
const Service* cleanup_called(const Import& import, std::string_view name) {
    const auto found = std::ranges::find_if(import.services, [&](const auto& each) {
        return each.type == "unix" && each.command == "cleanup" && each.name == name;
    });
    return found == import.services.end() ? nullptr : &*found;
}

void own_cleanup(Import& import, const Import::Listener& listener) {
    const auto name = import.value(listener.values, "cleanup_service_name");
    if (name == "cleanup" || name == import.value("cleanup_service_name")) return;
    const auto* service = cleanup_called(import, name);
    if (!service || !service->overrides.empty())
        import.record_service(*listener.service, Kind::unsupported,
                              fmt::format("cleanup_service_name = {0}: what the service \"{0}\" sets for itself is not "
                                          "applied to mail of this listener",
                                          name));
}

// What smtpd does not read, or what something else supersedes.
bool is_without_effect_there(const Import::Listener& listener, const postfix::Setting& setting) {
    if (setting.name.starts_with("smtp_") || setting.name.starts_with("lmtp_")) return true;
    if (setting.name == "smtpd_restriction_classes") return setting.value.empty();
    return setting.name == "mynetworks_style" && listener.values.given("mynetworks");
}

constexpr std::string_view upper_limits[] = {"smtpd_soft_error_limit", "smtpd_hard_error_limit",
                                             "smtpd_junk_command_limit", "hopcount_limit", "header_size_limit"};
constexpr std::string_view rates_per_client[] = {
    "smtpd_client_connection_rate_limit", "smtpd_client_message_rate_limit", "smtpd_client_recipient_rate_limit"};

// A listener that is to be limited less than the others, such as one that gets mail back from a filter.
bool is_looser_there(Import& import, const Import::Listener& listener, const postfix::Setting& setting) {
    const auto is_one_of = [&](const auto& list) { return std::ranges::find(list, setting.name) != std::end(list); };
    if (setting.name == "local_recipient_maps" || setting.name == "relay_recipient_maps") return setting.value.empty();
    const bool pause = setting.name == "smtpd_error_sleep_time", rate = is_one_of(rates_per_client);
    if (!pause && !rate && !is_one_of(upper_limits)) return false;
    const auto number = [&](const std::string& text) {
        return pause ? postfix::seconds_of(text, 's') : postfix::number_of(text);
    };
    const auto here = number(import.value(listener.values, setting.name)), there = number(import.value(setting.name));
    if (!here || !there) return false;
    if (pause) return *here < *there;
    if (rate && (*here == 0 || *there == 0)) return *here == 0 && *there != 0;
    return *here > *there;
}

void access_settings(Import& import, const Import::Listener& listener, const std::string& key) {
    for (const auto& [name, ours] : {std::pair{"smtpd_authorized_xclient_hosts", "xclient_networks"},
                                     {"smtpd_authorized_xforward_hosts", "xforward_networks"}})
        if (const auto networks = networks_in(import, listener, name); !networks.empty())
            import.draft.set(fmt::format("{}.{}", key, ours), toml(networks), name);
    if (!import.value(listener.values, "smtpd_upstream_proxy_protocol").empty()) {
        import.draft.set(key + ".proxy_networks", toml(std::vector<std::string>{"127.0.0.1"}),
                         "smtpd_upstream_proxy_protocol");
        import.record_service(*listener.service, Kind::with_remark,
                              "list the load balancers in proxy_networks: no other client is accepted");
        import.add_remark("smtpd_upstream_proxy_protocol",
                          "list the load balancers in proxy_networks: no other client is accepted");
    }
    if (listener.values.given("disable_vrfy_command"))
        import.draft.set(key + ".vrfy", toml(flag_is_set(import, listener, "disable_vrfy_command") ? "off" : "verify"),
                         "disable_vrfy_command");
    if (listener.values.given("smtputf8_enable"))
        import.draft.set(key + ".smtputf8", toml(flag_is_set(import, listener, "smtputf8_enable")), "smtputf8_enable");
    import.mark_converted("disable_vrfy_command"), import.mark_converted("smtputf8_enable");
    const auto overridden = [&](std::string_view name) {
        return std::ranges::find(listener.service->overrides, name, &postfix::Setting::name) !=
               listener.service->overrides.end();
    };
    for (const auto& [name, ours] : {std::pair{"message_size_limit", "message_size"},
                                     {"smtpd_recipient_limit", "recipients"},
                                     {"smtpd_client_connection_count_limit", "sessions_per_network"}})
        if (overridden(name))
            if (const auto number = postfix::number_of(import.value(listener.values, name)); number && *number > 0)
                import.draft.set(fmt::format("{}.{}", key, ours), toml(*number), fmt::format("-o {}", name));
    for (const auto& setting : listener.service->overrides) {
        if (std::ranges::find(handled_overrides, setting.name) != std::end(handled_overrides)) continue;
        if (is_without_effect_there(listener, setting)) continue;
        if (is_looser_there(import, listener, setting))
            import.record_service(
                *listener.service, Kind::with_remark,
                fmt::format("-o {}: what applies to all listeners is stricter, and applies here too", setting.name));
        else
            import.record_override(*listener.service, setting, "no counterpart for one listener alone");
    }
    own_cleanup(import, listener);
}

constexpr std::string_view lists_of_restrictions[] = {"smtpd_client_restrictions", "smtpd_helo_restrictions",
                                                      "smtpd_sender_restrictions", "smtpd_relay_restrictions",
                                                      "smtpd_recipient_restrictions"};

void import_listener(Import& import, const Service& service) {
    const auto at = parse_endpoint(service.name);
    if (!at)
        return import.record_service(
            service, Kind::unsupported,
            fmt::format("\"{}\": not the name of a mail port: write its number", service.name));
    Import::Listener listener{name_for(import, *at, at->host), false, &service,
                              import.values.of(service, import.environment.directory + "/master.cf")};
    const bool wrapped = flag_is_set(import, listener, "smtpd_tls_wrappermode");
    // A listener that rejects all strangers accepts mail from the site's own users only, whatever the port.
    listener.submission =
        wrapped || at->port == 587 || at->port == 465 || std::ranges::any_of(lists_of_restrictions, [&](auto name) {
            const auto list = postfix::restrictions_of(import.value(listener.values, name));
            return list && postfix::rejects_untrusted(*list);
        });
    const auto key = "listen." + listener.name;
    auto addresses = at->host.empty() ? usual_addresses(import, *at) : std::vector<std::string>{};
    if (!at->host.empty()) {
        if (at->host == "localhost")
            addresses = {endpoint("127.0.0.1", at->port), endpoint("::1", at->port)};
        else if (common::IpAddress::parse(at->host))
            addresses = {endpoint(at->host, at->port)};
        else
            return import.record_service(service, Kind::unsupported,
                                         fmt::format("\"{}\" is not a numeric IP address", at->host));
    }
    if (import.error) return;
    if (addresses.empty()) return import.record_service(service, Kind::unsupported, "no address to listen on");
    if (wrapped && !import.draft.find("tls.certificates"))
        return import.record_service(service, Kind::unsupported,
                                     "TLS from the first byte needs a certificate, and tls.certificates is empty: "
                                     "set it, and a [listen.submissions] with tls = \"implicit\"");
    import.record_service(service, Kind::converted);
    import.draft.set(key + ".addresses", toml(addresses),
                     fmt::format("{} {}, master.cf line {}", service.name, service.type, service.line));
    import.draft.set(key + ".service", toml(listener.submission ? "submission" : "relay"));
    tls(import, listener, key, wrapped);
    access_settings(import, listener, key);
    if (const auto limit = postfix::number_of(service.process_limit); limit && *limit > 0)
        import.record_service(
            service, Kind::with_remark,
            fmt::format("a limit of {} processes: each process serves many sessions; sessions bounds them", *limit));
    import.listeners.push_back(std::move(listener));
}

// "submission.inet", "inet", "smtp/inet".
bool disabled(Import& import, const Service& service) {
    return std::ranges::any_of(import.words("master_service_disable"), [&](std::string word) {
        std::ranges::replace(word, '.', '/');
        return word == service.type || word == service.name + "/" + service.type;
    });
}

// What Postfix's own processes are for is Postrider's own business; pipes and the like are not.
constexpr std::string_view internal[] = {"pickup",          "cleanup", "qmgr",    "oqmgr",   "nqmgr",    "tlsmgr",
                                         "trivial-rewrite", "bounce",  "verify",  "flush",   "proxymap", "showq",
                                         "error",           "discard", "local",   "virtual", "anvil",    "scache",
                                         "postlogd",        "dnsblog", "tlsproxy"};

// What its line sets for itself: whose mail it is about is decided elsewhere.
void internal_service(Import& import, const Service& service) {
    if (service.command == "local" && service.name != "local")
        import.record_service(
            service, Kind::unsupported,
            fmt::format("another local(8): write \"local:\" instead of \"{}:\" into transport tables", service.name));
    std::string users;
    if (service.command == "cleanup" && service.name != "cleanup")
        for (const auto& other : import.services)
            for (const auto& over : other.overrides)
                if (over.name == "cleanup_service_name" && over.value == service.name)
                    users += fmt::format("{}{} {}", users.empty() ? "" : ", ", other.name, other.type);
    for (const auto& over : service.overrides)
        if (over.name != "syslog_name" && !(service.command == "pickup" && over.name == "content_filter"))
            import.record_override(service, over,
                                   users.empty() ? "settings of this service alone have no counterpart"
                                                 : fmt::format("not applied to mail of {}: content.header_checks and "
                                                               "milters apply to whole listeners",
                                                               users));
}

// A content filter gets the origin of mail by XFORWARD, is reached at an address, and its deliveries are logged with
// its name.
constexpr std::string_view always_for_filters[] = {"smtp_send_xforward_command", "lmtp_send_xforward_command",
                                                   "disable_dns_lookups", "syslog_name"};

void other_service(Import& import, const Service& service) {
    if (std::ranges::find(internal, service.command) != std::end(internal)) return internal_service(import, service);
    if (service.type == "pass" && service.command == "smtpd") return; // behind postscreen
    const auto is_it = [&](std::string_view value) {
        return value == service.name || value.starts_with(service.name + ":");
    };
    const bool filters =
        is_it(import.value("content_filter")) || std::ranges::any_of(import.services, [&](const auto& each) {
            return is_it(each.own("content_filter").value_or(""));
        });
    const bool by_rules = !filters && service.name != "smtp" && service.name != "relay" && service.name != "lmtp" &&
                          !is_named_by_transport_maps(import, service) && is_named_by_filter(import, service);
    if ((filters || by_rules) && (service.command == "smtp" || service.command == "lmtp")) {
        for (const auto& over : service.overrides)
            if (std::ranges::find(always_for_filters, over.name) == std::end(always_for_filters))
                import.record_override(service, over, "applies to all servers: see [smtp_client]");
        return import.record_service(service, Kind::converted);
    }
    if (filters) return import.record_service(service, Kind::with_remark, "for content_filter only: see there");
    if (service.command == "smtp" || service.command == "lmtp") {
        if (service.name == "smtp" || service.name == "relay" || service.name == "lmtp") {
            for (const auto& over : service.overrides)
                if (over.name != "syslog_name")
                    import.record_override(service, over,
                                           "settings of a single transport have no counterpart: use [smtp_client] or "
                                           "the [route]");
            return;
        }
        if (becomes_route(import, service)) return import_route_of_transport(import, service);
        if (is_pool_for_senders(import, service)) return import.record_service(service, Kind::converted);
        const auto named_by = [&](std::string_view name) {
            return own_smtp_transport(import, import.value(name)) == &service;
        };
        if (named_by("default_transport") || named_by("relay_transport")) return; // its settings: with the routes
        if (named_by("virtual_transport") || named_by("mailbox_transport") || named_by("local_transport")) {
            for (const auto& over : service.overrides)
                import.record_override(service, over,
                                       "deliveries to a server for mailboxes have no settings of their own");
            return import.record_service(service, Kind::converted);
        }
        import.record_service(service, Kind::unsupported,
                              "another SMTP transport: write a [route] for the domains that use it, with its own tls, "
                              "connections or pool; for senders that use it, [pools] by_sender selects a [pool.NAME]");
        for (const auto& over : service.overrides)
            if (const auto* row = mapping_of(over.name); row && row->if_lost == IfLost::unguarded)
                import.record_override(service, over, "set it in the [route] of the domains that use this transport");
        return;
    }
    if (service.type == "inet")
        return import.record_service(
            service, Kind::unsupported,
            fmt::format("{} has no counterpart; systemd can start its programs", service.command));
    if (service.command == "pipe") {
        // Debian's master.cf has many that nothing uses.
        if (!is_used_transport(import, service)) return import.record_service(service, Kind::converted);
        return import_program(import, service);
    }
    if (service.command == "spawn") // where a setting names it, that says what to do
        return import.record_service(service, Kind::unsupported,
                                     "spawn: systemd can start the program for each connection, see \"Programs that "
                                     "spawn starts\" in postrider-from-postfix(7)");
    import.record_service(service, Kind::unsupported,
                          fmt::format("{}: programs that speak Postfix's own protocol have no counterpart: write a "
                                      "[command.NAME] for a program that reads a message",
                                      service.command));
}

} // namespace

void import_listeners(Import& import) {
    const auto protocols = import.words("inet_protocols");
    const auto has = [&](std::string_view word) { return std::ranges::find(protocols, word) != protocols.end(); };
    if (!has("all") && !(has("ipv4") && has("ipv6"))) {
        if (!has("ipv4") && !has("ipv6")) return import.fail("inet_protocols", "expected all, ipv4 or ipv6");
        import.set("smtp_client.ipv4", toml(has("ipv4")), "inet_protocols");
        import.set("smtp_client.ipv6", toml(has("ipv6")), "inet_protocols");
    }
    for (const auto& service : import.services) {
        if (import.error) return;
        if (service.type == "inet" && disabled(import, service))
            import.record_service(service, Kind::converted);
        else if (service.type == "inet" && (service.command == "smtpd" || service.command == "postscreen"))
            import_listener(import, service);
        else
            other_service(import, service);
    }
    import.mark_converted("master_service_disable");
    import.mark_converted("cleanup_service_name");
    if (const auto name = import.value("cleanup_service_name"); name != "cleanup")
        if (const auto* service = cleanup_called(import, name); !service || !service->overrides.empty())
            import.add_remark("cleanup_service_name",
                              fmt::format("what the service \"{}\" sets for itself is not applied", name));
    if (import.listeners.empty() && !import.error) // no service listened, but at least one listener is required
        import.draft.set("listen.smtp.addresses", toml(std::vector<std::string>{"127.0.0.1:25"}),
                         "master.cf has no smtpd service that can be imported");
}

} // namespace postrider
