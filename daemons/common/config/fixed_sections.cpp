#include "daemons/common/config/fixed_sections.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/sections/key_tables.h"

namespace config {

std::vector<Section> fixed_sections(Config& c) {
    return {table_of(c.mta),    table_of(c.spool), table_of(c.log),         table_of(c.local),
            table_of(c.relay),  table_of(c.addresses.virtual_alias), table_of(c.addresses.virtual_mailbox),
            table_of(c.addresses.canonical), table_of(c.addresses.relocated), table_of(c.addresses.transport),
            table_of(c.addresses.sender_relay), table_of(c.dns),   table_of(c.tls),         table_of(c.auth),
            table_of(c.queue),  table_of(c.smtpd), table_of(c.content), table_of(c.copies),
            table_of(c.smtp_client), table_of(c.pool_choice), table_of(c.suppression), table_of(c.tls_reports), table_of(c.submit), table_of(c.idempotency),
            table_of(c.bounce), table_of(c.master), table_of(c.metrics), table_of(c.testing)};
}

} // namespace config
