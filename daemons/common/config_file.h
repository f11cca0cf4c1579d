// Where a command finds its configuration.
#pragma once
#include <string>
#include <string_view>

namespace common {

// What -c says, else $POSTRIDER_CONFIG (not in a set-id program), else /etc/postrider/postrider.toml.
std::string config_file(std::string_view given);

} // namespace common
