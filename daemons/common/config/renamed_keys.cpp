#include "daemons/common/config/renamed_keys.h"

namespace config {

namespace {

constexpr RenamedKey renamed[] = {
    {"mta.users", "mta.multi_user"},
    {"listen.submitters", "listen.submission_networks"},
    {"listen.etrn_users", "listen.etrn_authenticated"},
    {"route.tls_wrap", "route.implicit_tls"},
    {"route.replies", "route.reply_overrides"},
    {"virtual_mailbox.users", "virtual_mailbox.recipients"},
    {"tls.client_authorities", "tls.client_ca_file"},
    {"auth.checks", "auth.concurrent_checks"},
    {"auth.checks_waiting", "auth.queued_checks"},
    {"queue.health_evidence", "queue.healthy_period"},
    {"queue.link_health_evidence", "queue.link_healthy_period"},
    {"queue.deaths_before_hold", "queue.crashes_before_hold"},
    {"queue.submit_retry", "queue.report_retry"},
    {"queue.requeue_retry", "queue.internal_error_retry"},
    {"queue.reset_routes_retry", "queue.reroute_retry"},
    {"queue.report_gather", "queue.report_merge_window"},
    {"queue.window_start", "queue.initial_connections_mx"},
    {"queue.window_start_route", "queue.initial_connections_route"},
    {"queue.connection_idle", "queue.connection_idle_timeout"},
    {"queue.push_back_pause", "queue.connection_backoff"},
    {"queue.settle_after", "queue.leave_incoming_after"},
    {"smtpd.reverse_names", "smtpd.reverse_lookup"},
    {"smtpd.reverse_name_timeout", "smtpd.reverse_lookup_timeout"},
    {"copies", "automatic_bcc"},
    {"smtp_client.tls_authorities", "smtp_client.tls_ca_file"},
    {"pool.rest", "pool.backoff"},
    {"suppression.on", "suppression.triggers"},
    {"suppression.for", "suppression.lifetime"},
    {"idempotency.life", "idempotency.lifetime"},
    {"bounce.dry_bounce", "bounce.withhold_reports"},
};

} // namespace

std::span<const RenamedKey> renamed_keys() { return renamed; }

} // namespace config
