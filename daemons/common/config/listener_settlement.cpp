#include "daemons/common/config/listener_settlement.h"
#include "daemons/common/config/toml_reader.h"
#include <algorithm>
#include <fmt/format.h>

namespace config {

void ListenerSettlement::settle(std::vector<Listener>& listeners) {
    std::vector<std::string> taken;
    for (auto& listener : listeners) {
        const auto path = fmt::format("listen.{}", listener.name);
        if (toml_.is_set(path) && !toml_.is_set(path + ".addresses"))
            toml_.problem_at(path, fmt::format("{}: required key \"addresses\" is missing", path));
        for (const auto& address : listener.addresses) {
            if (std::find(taken.begin(), taken.end(), address.to_string()) != taken.end())
                toml_.problem_at(path + ".addresses", fmt::format("{0}.addresses: {1} is used by another listener",
                                                                  path, address.to_string()));
            taken.push_back(address.to_string());
        }
        settle_tls(listener, path);
        settle_limits(listener, path);
    }
}

void ListenerSettlement::settle_tls(Listener& listener, const std::string& path) {
    const bool certified = !config_.tls.certificates.empty();
    if (listener.tls == ListenerTls::by_service) {
        if (listener.service == Service::submission)
            listener.tls = ListenerTls::require;
        else
            listener.tls = certified ? ListenerTls::offer : ListenerTls::no;
    }
    settle_auth(listener, path);
    check_client_certificates(listener, path);
    if (listener.tls == ListenerTls::no || certified) return;
    const auto key = path + ".tls";
    toml_.problem_at(toml_.is_set(key) ? key : path,
                     fmt::format("{}: TLS requires tls.certificates: set it, or set tls = \"no\"{}", path,
                                 listener.service == Service::submission ? " (mail and passwords in plain text)" : ""));
}

// A demand that no client could meet, or that would be met without TLS.
void ListenerSettlement::check_client_certificates(const Listener& listener, const std::string& path) {
    if (!listener.certificate_required) return;
    const auto key = path + ".client_certificate_required";
    const auto problem = [&](std::string_view what) { toml_.problem_at(key, fmt::format("{}: {}", key, what)); };
    if (!listener.client_certificates) problem("clients are not asked for one: set client_certificates = true");
    if (listener.tls != ListenerTls::require && listener.tls != ListenerTls::implicit)
        problem("clients could do without TLS: set tls = \"require\" or \"implicit\"");
    if (config_.tls.client_authorities.empty() && config_.relay.client_certificates.empty())
        problem("no certificate would do: set tls.client_ca_file or relay.client_certificates");
}

void ListenerSettlement::settle_limits(Listener& listener, const std::string& path) {
    const auto& smtpd = config_.smtpd;
    if (!toml_.is_set(path + ".idempotency_match")) listener.idempotency_match = config_.idempotency.match;
    if (listener.message_size == 0) listener.message_size = smtpd.message_size;
    if (listener.recipients == 0) listener.recipients = smtpd.recipients;
    if (listener.sessions == 0) listener.sessions = smtpd.sessions;
    constexpr std::pair<const char*, std::uint32_t ClientLimits::*> all[] = {
        {"sessions_per_network", &ClientLimits::sessions_per_network},
        {"connections_per_minute", &ClientLimits::connections_per_minute},
        {"messages_per_minute", &ClientLimits::messages_per_minute},
        {"recipients_per_minute", &ClientLimits::recipients_per_minute},
        {"user_connections_per_minute", &ClientLimits::user_connections_per_minute},
        {"user_messages_per_hour", &ClientLimits::user_messages_per_hour},
        {"user_recipients_per_hour", &ClientLimits::user_recipients_per_hour},
    };
    for (const auto& [key, limit] : all)
        if (!toml_.is_set(fmt::format("{}.{}", path, key))) listener.limits.*limit = smtpd.limits.*limit;
}

void ListenerSettlement::settle_auth(Listener& listener, const std::string& path) {
    const bool decided = !config_.auth.passwords.empty() || !config_.auth.dovecot.empty();
    if (!toml_.is_set(path + ".auth")) listener.auth = listener.service == Service::submission && decided;
    if (listener.auth && !decided)
        toml_.problem_at(path + ".auth",
                         fmt::format("{}.auth: no source of passwords: set auth.passwords or auth.dovecot", path));
    if (listener.auth && listener.tls == ListenerTls::no && !listener.auth_without_tls)
        toml_.problem_at(
            toml_.is_set(path + ".auth") ? path + ".auth" : path,
            fmt::format("{}: AUTH requires TLS: set auth_without_tls = true to allow passwords in plain text, or "
                        "auth = false",
                        path));
    if (listener.service == Service::filtered && (listener.submitters.empty() || listener.auth))
        toml_.problem_at(path, fmt::format("{}: name the content filter's address in submission_networks, and set no "
                                           "auth: mail from there is not examined again",
                                           path));
    const auto& relay = config_.relay;
    const bool by_certificate =
        listener.client_certificates && (!relay.client_certificates.empty() || relay.verified_certificates);
    if (listener.service == Service::submission && !listener.auth && listener.submitters.empty() && !by_certificate)
        toml_.problem_at(
            path, fmt::format("{}: no client could send mail: set auth.passwords or auth.dovecot, or list networks "
                              "in submission_networks",
                              path));
}

} // namespace config
