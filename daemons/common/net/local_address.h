// Whether a connection can be made from an address: asks the kernel, by binding a socket to it.
#pragma once
#include "daemons/common/net/network.h"
#include <string>

namespace common {

// "" it can; else the kernel's words: "Cannot assign requested address".
std::string local_address_error(const IpAddress& address);

} // namespace common
