// A configuration as written in its file, including its errors: for commands that need only the location of
// the running mail system, which continues with the configuration it last applied. Nothing is started with it.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include <expected>
#include <string>
#include <vector>

namespace config {

struct PartialConfig {
    Config config; // what has a problem is as if it were not there
    std::vector<Problem> problems;
};

// The files that it names need not be there. An error: it cannot be read, is no TOML, or where the spool lies is among
// its mistakes.
std::expected<PartialConfig, std::vector<Problem>> load_partial(const std::string& file,
                                                                const System& system = System::here());

} // namespace config
