// How a command finds its configuration. Problems are printed.
#pragma once
#include "daemons/common/commands/effective_config.h"
#include "daemons/common/config/fwd.h"
#include "daemons/common/terminal/arguments.h"
#include <optional>

namespace postrider {

// The named configuration, or the standard one, which must be valid. nullopt: its problems were printed.
std::optional<config::Config> load_config(const Arguments& arguments);
// The same, but the files that it names need not exist.
std::optional<config::Config> parse_config(const Arguments& arguments);
// For commands that talk to the MTA or its spool: from an invalid file they take the settings they need where that is
// possible (common/commands/effective_config.h), with a warning.
std::optional<common::EffectiveConfig> load_effective_config(const Arguments& arguments);

} // namespace postrider
