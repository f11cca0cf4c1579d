// Tables of the configuration by mail address: "ann@example.org"
// or "@example.org", in lower case, and the value for it. Pure.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace common {

using AddressTable = std::map<std::string, std::string, std::less<>>;

// By the whole address, by the address without its extension, by its domain: the first there is; or null.
// `delimiter`: local.recipient_delimiter.
const std::string* find_by_address(const AddressTable& table, std::string_view address, std::string_view delimiter);

} // namespace common
