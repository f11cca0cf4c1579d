// Whether a connection can be made from an address: asks the kernel, by binding a socket to it.
#pragma once
#include "daemons/common/net/network.h"
#include <optional>
#include <string>

namespace common {

// Why it cannot, in the kernel's words: "Cannot assign requested address".
std::optional<std::string> local_address_error(const IpAddress& address);

} // namespace common
