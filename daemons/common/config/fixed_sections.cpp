#include "daemons/common/config/fixed_sections.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/sections/key_tables.h"

namespace config {

std::vector<Section> fixed_sections(Config& c) {
    return {section_for(c.mta),
            section_for(c.spool),
            section_for(c.history),
            section_for(c.log),
            section_for(c.local),
            section_for(c.relay),
            section_for(c.addresses.virtual_alias),
            section_for(c.addresses.virtual_mailbox),
            section_for(c.addresses.canonical),
            section_for(c.addresses.masquerade),
            section_for(c.addresses.generic),
            section_for(c.addresses.relocated),
            section_for(c.addresses.transport),
            section_for(c.addresses.sender_relay),
            section_for(c.dns),
            section_for(c.tls),
            section_for(c.auth),
            section_for(c.queue),
            section_for(c.smtpd),
            section_for(c.client_tests),
            section_for(c.verify),
            section_for(c.content),
            section_for(c.automatic_bcc),
            section_for(c.smtp_client),
            section_for(c.pool_choice),
            section_for(c.sender_rules),
            section_for(c.suppression),
            section_for(c.tls_reports),
            section_for(c.submit),
            section_for(c.idempotency),
            section_for(c.bounce),
            section_for(c.master),
            section_for(c.metrics),
            section_for(c.http),
            section_for(c.fleet),
            section_for(c.testing)};
}

} // namespace config
