#include "daemons/smtpd/policy/settings.h"
#include "daemons/common/config/config.h"

namespace smtpd {

Settings::Settings(const config::Config& config)
    : mta(config.mta), smtpd(config.smtpd), auth(config.auth), tls(config.tls), local(config.local),
      addresses(config.addresses), relay(config.relay), dns(config.dns), idempotency(config.idempotency),
      dns_lists(config.dns_lists), client_tests(config.client_tests), milters(config.milters),
      pools(config.pools, config.pool_choice, config.local.recipient_delimiter), requests(config.queue.policies),
      sender_rules(config.sender_rules), automatic_bcc{config.automatic_bcc, config.local.recipient_delimiter},
      recorded_fields(config.history.headers), queue(config.queue), bounce(config.bounce),
      domains(config.domain_classes()) {}

} // namespace smtpd
