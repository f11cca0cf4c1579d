// Where a command finds its configuration.
#pragma once
#include <string>
#include <string_view>

namespace common {

inline constexpr std::string_view standard_config_file = "/etc/postrider/postrider.toml";

// What -c says, else $POSTRIDER_CONFIG (not in a set-id program), else the standard file.
std::string config_file(std::string_view given);

} // namespace common
