#include "daemons/common/expansion/expansion_settings.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/common/config/transport_names.h"
#include "daemons/common/text/idn.h"
#include "daemons/decide/routing/routing.h"
#include <algorithm>
#include <memory>

namespace common {

namespace {

decide::Permitted permitted_places(const std::vector<std::string>& places) {
    const auto has = [&](const char* place) { return std::ranges::find(places, place) != places.end(); };
    return {has(config::AliasRules::aliases), has(config::AliasRules::forward), has(config::AliasRules::includes)};
}

} // namespace

decide::ExpansionSettings expansion_settings(const config::Config& config) {
    const auto& local = config.local;
    const auto& rules = local.alias_rules;
    const auto& addresses = config.addresses;
    decide::ExpansionSettings out;
    out.class_of = [classes = std::make_shared<const decide::DomainClasses>(config.domain_classes())](
                       std::string_view domain, decide::Lookups& lookups) {
        return classes->find(idn::ascii_domain(domain), [&](const std::string& table, const std::string& key) {
            return lookups.table(table, key);
        });
    };
    out.has_route = [routes = std::make_shared<const decide::RouteTable>(config.routes)](std::string_view domain) {
        const auto* rule = routes->find(idn::ascii_domain(domain));
        return rule && rule->pattern != "*";
    };
    out.folded = idn::folded;
    out.origin = config.mta.origin;
    out.postmaster = local.postmaster;
    out.catch_all = rules.catch_all;
    out.delimiter = local.recipient_delimiter.empty() ? '\0' : local.recipient_delimiter.front();
    out.depth = local.alias_depth;
    out.recipients = local.alias_recipients;
    out.masquerade = addresses.masquerade.rules;
    out.masquerade_classes = addresses.masquerade.classes;
    out.local_transport = rules.deliver;
    out.mailbox = addresses.virtual_mailbox.deliver;
    out.mailbox_user = addresses.virtual_mailbox.user;
    out.transports = config::transport_names(config.commands, config.routes);
    for (const auto& command : config.commands) out.program_users.push_back(command.user);
    out.mailboxes = local.delivery.mailbox_command.empty() ? decide::Mailboxes::files : decide::Mailboxes::commands;
    const auto known = [&](const char* kind) {
        return std::ranges::find(local.known_recipients, kind) != local.known_recipients.end();
    };
    out.known_here = {.users = known("users"), .aliases = known("aliases"), .everybody = !local.check_recipients};
    out.default_user = rules.default_user;
    out.commands = permitted_places(rules.commands);
    out.files = permitted_places(rules.files);
    out.tables = {.sender_canonical = addresses.canonical.sender,
                  .recipient_canonical = addresses.canonical.recipient,
                  .virtual_alias = addresses.virtual_alias.tables,
                  .mailboxes = addresses.virtual_mailbox.users,
                  .relay_recipients = config.relay.recipients,
                  .local_recipients = local.recipients,
                  .relocated = addresses.relocated.tables,
                  .transport = addresses.transport.tables,
                  .sender_relay = addresses.sender_relay.tables};
    const auto& canonical = addresses.canonical;
    if (canonical.common_classes.envelope_sender) out.tables.common_sender_canonical = canonical.common;
    if (canonical.common_classes.envelope_recipient) out.tables.common_recipient_canonical = canonical.common;
    out.canonical_repeated = canonical.repeat;
    return out;
}

} // namespace common
