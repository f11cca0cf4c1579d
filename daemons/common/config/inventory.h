// The settings in force, each with its value and where that comes from: a line of the file, or the default.
#pragma once
#include "daemons/common/config/load.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace config {

struct Setting {
    std::string section;    // "smtpd", "route.\"example.org\""
    std::string key;        // "workers"
    std::string value;      // as TOML
    std::uint32_t line = 0; // in the file; 0: the default
    bool guarded = false;   // the value may be a secret, or contain one
};

// All keys of the sections that there are once, and those that are set in named ones; the rest of these have their
// defaults. In the order of the manual; nothing if the text is not a valid configuration.
std::vector<Setting> settings_in_force(std::string_view text, std::string_view file,
                                       const System& system = System::here());

} // namespace config
