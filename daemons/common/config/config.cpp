#include "daemons/common/config/config.h"
#include "daemons/common/config/address_classes.h"
#include "daemons/common/config/sections/system/origin.h"
#include <algorithm>

namespace config {

decide::DomainClasses Config::domain_classes() const { return config::domain_classes(local, addresses, relay); }

const Pool* Config::pool(std::string_view name) const {
    const auto found = std::ranges::find(pools, name, &Pool::name);
    return found == pools.end() ? nullptr : &*found;
}

const std::string& origin_of(const Config& config) { return config.mta.origin; }

const Fleet& fleet_of(const Config& config) { return config.fleet; }

} // namespace config
