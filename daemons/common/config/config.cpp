#include "daemons/common/config/config.h"
#include "daemons/common/config/address_classes.h"
#include <algorithm>

namespace config {

bool Config::is_local(std::string_view domain) const { return config::is_local(local, domain); }

bool Config::is_relay(std::string_view domain) const { return config::is_relay(relay, domain); }

decide::AddressClass Config::class_of(std::string_view domain) const {
    return config::class_of(local, addresses, relay, domain);
}

const Pool* Config::pool(std::string_view name) const {
    const auto found = std::ranges::find(pools, name, &Pool::name);
    return found == pools.end() ? nullptr : &*found;
}

} // namespace config
