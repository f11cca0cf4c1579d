// Which other process listens at an address: added to "Address already in use", which alone is of little help.
#pragma once
#include "daemons/common/net/network.h"
#include <string>
#include <vector>

namespace master {

// Inodes of the sockets listening where binding to `wanted` collides with them, from the text of /proc/net/tcp or
// tcp6.
std::vector<std::string> inodes_listening(std::string_view table, const common::Endpoint& wanted);

// "exim4 (pid 812)", several joined by commas; "" if /proc does not show it (another user's, another container's).
std::string listening_processes(const common::Endpoint& wanted);

} // namespace master
