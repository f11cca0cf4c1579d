#include "daemons/common/config/address_classes.h"
#include <algorithm>
#include <string>
#include <vector>

namespace config {

bool is_local(const Local& local, std::string_view domain) {
    return std::find(local.domains.begin(), local.domains.end(), domain) != local.domains.end();
}

bool is_relay(const Relay& relay, std::string_view domain) {
    if (relay.domains.empty()) return false;
    if (relay.domains.contains(domain)) return true;
    for (auto dot = domain.find('.'); dot != domain.npos; dot = domain.find('.', dot + 1))
        if (relay.domains.contains(domain.substr(dot))) return true;
    return false;
}

decide::AddressClass class_of(const Local& local, const Addresses& addresses, const Relay& relay,
                              std::string_view domain) {
    using decide::AddressClass;
    const auto has = [&](const std::vector<std::string>& domains) {
        return std::ranges::find(domains, domain) != domains.end();
    };
    if (is_local(local, domain)) return AddressClass::local;
    if (has(addresses.virtual_alias.domains)) return AddressClass::virtual_alias;
    if (has(addresses.virtual_mailbox.domains)) return AddressClass::virtual_mailbox;
    return is_relay(relay, domain) ? AddressClass::relay : AddressClass::remote;
}

} // namespace config
