// A configuration as it stands in its file, mistakes and all: for commands that need to know no more than where the
// running mail system is, which goes on with the configuration it took over last. Nothing is started with it.
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
