#include "daemons/common/submission/address_map.h"
#include "libsmtp/text/text.h"
#include <vector>

namespace common {

const std::string* find_by_address(const AddressTable& table, std::string_view address, std::string_view delimiter) {
    const auto key = smtp::lowered(address);
    const auto at = key.rfind('@');
    if (table.empty() || at == key.npos) return nullptr;
    const auto domain = key.substr(at);
    auto keys = std::vector<std::string>{key, domain};
    if (const auto plus = key.find(delimiter); !delimiter.empty() && plus > 0 && plus < at)
        keys.insert(keys.begin() + 1, key.substr(0, plus) + domain);
    for (const auto& each : keys)
        if (const auto found = table.find(each); found != table.end()) return &found->second;
    return nullptr;
}

} // namespace common
