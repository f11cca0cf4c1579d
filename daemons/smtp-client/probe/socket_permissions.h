// What stands where a UNIX socket was to be reached, for whoever wonders why it was not: its mode and owner, who we
// are, or which part of its path is missing or shut. Looks at the file system; opens nothing.
#pragma once
#include <string>

namespace smtp_client {

// One line: "/run/lmtp is a socket, mode 0600, of user 0 and group 0; we are user 998 and group 998". Numbers, for
// names may take a look-up.
std::string describe_socket(const std::string& path);

} // namespace smtp_client
