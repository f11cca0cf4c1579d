// The classes of domains, by the sections that list domains: [local], [virtual_alias], [virtual_mailbox], [relay].
// Pure.
#pragma once
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/server/relay.h"
#include "daemons/decide/addressing/domain_classes.h"

namespace config {

// Domains are asked for in lower case, as the DNS has them: idn::ascii_domain.
decide::DomainClasses domain_classes(const Local& local, const Addresses& addresses, const Relay& relay);

} // namespace config
