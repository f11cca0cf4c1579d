#include "daemons/common/config/address_classes.h"

namespace config {

decide::DomainClasses domain_classes(const Local& local, const Addresses& addresses, const Relay& relay) {
    using decide::AddressClass;
    using Parents = decide::DomainTables::Parents;
    decide::DomainClasses out;
    const auto& aliases = addresses.virtual_alias;
    const auto& boxes = addresses.virtual_mailbox;
    for (const auto& domain : local.domains) out.add(domain, AddressClass::local);
    for (const auto& domain : aliases.domains) out.add(domain, AddressClass::virtual_alias);
    for (const auto& domain : boxes.domains) out.add(domain, AddressClass::virtual_mailbox);
    for (const auto& domain : relay.domains) out.add(domain, AddressClass::relay);
    out.set_tables({.local = local.domain_tables,
                    .virtual_alias = aliases.domain_tables,
                    .virtual_mailbox = boxes.domain_tables,
                    .relay = relay.domain_tables,
                    .parents = relay.parent_domains ? Parents::plain : Parents::dotted});
    return out;
}

} // namespace config
