// A command for the store, and its bytes, by hiredis' formatter. Pure.
#pragma once
#include <string>
#include <vector>

namespace fleet::redis {

using Command = std::vector<std::string>; // its name, then its arguments: any bytes

std::string bytes_of(const Command& command);

} // namespace fleet::redis
