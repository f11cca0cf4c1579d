#include "daemons/smtpd/policy/rules.h"
#include "daemons/common/config/sections/server/listener_tests.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace smtpd {

using namespace std::chrono_literals;

static smtp::ServerSettings settings_of(const Settings& settings, const config::Listener& listener) {
    const auto& from = settings.smtpd;
    smtp::ServerSettings to;
    to.hostname = settings.mta.hostname;
    to.message_size = listener.message_size;
    to.recipients = listener.recipients;
    to.capabilities.size = listener.message_size;
    to.content_lines = from.bare_newlines == config::BareNewlines::reject
                           ? smtp::ServerSettings::ContentLines::reject
                           : smtp::ServerSettings::ContentLines::normalise;
    to.line = from.command_line;
    to.junk_commands = from.commands;
    to.soft_errors = from.soft_errors;
    to.hard_errors = from.hard_errors;
    to.error_delay = from.error_delay;
    to.command_time = from.command_timeout;
    to.data_time = from.data_timeout;
    to.min_data_rate = from.minimum_rate;
    return to;
}

// What EHLO names, before TLS and under it.
static void offer(smtp::ServerSettings& settings, const Rules& rules) {
    settings.capabilities.chunking = true;
    settings.capabilities.recipients = settings.recipients;
    settings.capabilities.smtputf8 = rules.listener.smtputf8;
    settings.capabilities.vrfy = rules.listener.vrfy != config::Vrfy::off;
    settings.capabilities.etrn = !rules.listener.etrn_networks.empty() || rules.listener.etrn_users;
    if (rules.listener.service == config::Service::submission) {
        settings.capabilities.mt_priority = true;
        settings.capabilities.deliver_by = true;
        settings.capabilities.future_release = static_cast<std::uint32_t>(common::longest_schedule.count());
    }
    settings.tls_capabilities = settings.capabilities;
    settings.tls_capabilities.require_tls = rules.tls != nullptr;
    if (rules.listener.auth) {
        const auto& auth = rules.config->auth;
        std::string plain, bound;
        for (const auto& mechanism : auth.mechanisms) {
            bound += (bound.empty() ? "" : " ") + mechanism;
            if (!mechanism.ends_with("-PLUS")) plain += (plain.empty() ? "" : " ") + mechanism;
        }
        settings.tls_capabilities.auth = auth.dovecot.empty() ? bound : plain;
        if (rules.listener.auth_without_tls) settings.capabilities.auth = plain;
    }
    settings.capabilities.starttls = rules.tls && rules.listener.tls != config::ListenerTls::implicit;
    if (rules.listener.tls == config::ListenerTls::require) settings.tls = smtp::ServerSettings::Tls::required;
}

spool::Result<std::shared_ptr<const tls::Context>> make_tls(const Settings& settings, const config::Listener& listener,
                                                            const proto::secrets::Server& secrets) {
    if (listener.tls == config::ListenerTls::no) return nullptr;
    tls::ServerOptions options;
    options.purpose = settings.mta.hostname + " smtpd " + listener.name;
    options.minimum =
        settings.tls.minimum_version == config::TlsVersion::tls_1_3 ? tls::Version::tls_1_3 : tls::Version::tls_1_2;
    options.ciphers = settings.tls.ciphers;
    options.tickets = settings.tls.session_tickets;
    options.ticket_lifetime = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(settings.tls.ticket_lifetime).count());
    if (listener.client_certificates) options.client_certificates = tls::ClientCertificates::ask;
    return tls::Context::server(secrets, options);
}

// DNS lists, the delay of the greeting: within a session, or before it.
static void apply_client_tests(Rules& rules) {
    const auto& settings = *rules.config;
    rules.dns_lists = config::lists_of(settings.dns_lists, rules.listener);
    rules.screening = config::tests_of(settings.client_tests, rules.listener, settings.smtpd.greeting_delay,
                                       settings.smtpd.dns_list_threshold, !rules.dns_lists.empty());
}

std::shared_ptr<const Rules> make_rules(std::shared_ptr<const Settings> settings, const config::Listener& listener,
                                        Credentials credentials) {
    auto rules = std::make_shared<Rules>();
    rules->tls = std::move(credentials.tls);
    rules->passwords = std::move(credentials.passwords);
    rules->pepper = std::move(credentials.pepper);
    rules->config = std::move(settings);
    rules->listener = listener;
    rules->normal = settings_of(*rules->config, listener);
    offer(rules->normal, *rules);
    apply_client_tests(*rules);
    rules->stressed = rules->normal;
    rules->stressed.command_time = std::min<smtp::Duration>(rules->normal.command_time, 10s);
    rules->stressed.data_time = std::min<smtp::Duration>(rules->normal.data_time, 30s);
    rules->stressed.hard_errors = std::min(rules->normal.hard_errors, 2u);
    const auto& name = rules->normal.hostname;
    rules->busy_reply = {421, {4, 3, 2}, name + " All server ports are busy, try again later"};
    rules->too_many_sessions_reply = {421, {4, 7, 0}, name + " Error: too many connections from your network"};
    rules->too_many_connections_reply = {421, {4, 7, 0}, name + " Error: too many new connections from your network"};
    return rules;
}

std::string Rules::limit_exceeded_text(ClientLimits::Admission admission, std::string_view peer) const {
    const bool sessions = admission == ClientLimits::Admission::too_many_sessions;
    return fmt::format("Connection {} limit exceeded: {} from {} for service {}", sessions ? "concurrency" : "rate",
                       (sessions ? listener.limits.sessions_per_network : listener.limits.connections_per_minute) + 1,
                       peer, listener.name);
}

} // namespace smtpd
