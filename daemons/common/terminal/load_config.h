// How a command finds its configuration; problems are printed.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/terminal/arguments.h"
#include <optional>

namespace postrider {

// The configuration named or in the usual place, for who judges or uses all of it; nothing: its problems were printed.
std::optional<config::Config> load_config(const Arguments& arguments);
// The same, whether files it names are there or not.
std::optional<config::Config> parse_config(const Arguments& arguments);
// For who talks to the MTA or its spool: what they need is had from a file with mistakes too, as far as can be
// (common/commands/effective_config.h), with a warning.
std::optional<config::Config> config_in_force(const Arguments& arguments);

} // namespace postrider
