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
    Config config; // keys with a problem are treated as absent
    std::vector<Problem> problems;
};

// The files that it names need not exist. Error: the file cannot be read, is not TOML, or the location of the spool is
// among its problems.
std::expected<PartialConfig, std::vector<Problem>> load_partial(const std::string& file,
                                                                const System& system = System::here());

} // namespace config
