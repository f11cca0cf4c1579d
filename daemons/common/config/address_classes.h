// The class of a domain, by the sections that name domains: [local], [virtual_alias], [virtual_mailbox], [relay]. Pure.
#pragma once
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/server/relay.h"
#include "daemons/decide/addressing/address_class.h"
#include <string_view>

namespace config {

// Domains are in lower case, as the DNS has them: idn::ascii_domain.
bool is_local(const Local& local, std::string_view domain);
bool is_relay(const Relay& relay, std::string_view domain);
decide::AddressClass class_of(const Local& local, const Addresses& addresses, const Relay& relay,
                              std::string_view domain);

} // namespace config
