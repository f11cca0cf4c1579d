#include "daemons/pickup/settings.h"
#include "daemons/common/config/config.h"

namespace pickup {

Settings::Settings(const config::Config& config)
    : mta(config.mta), submit(config.submit), idempotency(config.idempotency),
      pools(config.pools, config.pool_choice, config.local.recipient_delimiter), requests(config.queue.policies),
      sender_rules(config.sender_rules), automatic_bcc{config.automatic_bcc, config.local.recipient_delimiter},
      recorded_fields(config.history.headers), drop_directory(config.spool.directory + "/drop"), queue(config.queue),
      bounce(config.bounce) {}

} // namespace pickup
