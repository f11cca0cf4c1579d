// Describes the path of a UNIX socket that could not be reached: the socket's mode and owner and our own user, or
// which part of the path is missing or inaccessible. Inspects the file system; opens nothing.
#pragma once
#include <string>

namespace smtp_client {

// One line: "/run/lmtp is a socket, mode 0600, of user 0 and group 0; we are user 998 and group 998". Numbers,
// because resolving names may need a lookup.
std::string describe_socket(const std::string& path);

} // namespace smtp_client
