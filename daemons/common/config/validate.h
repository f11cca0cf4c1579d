// Checks across the keys of a configuration, and defaults that follow from
// other keys or from the system. Each section has been read and checked by
// itself before (parse.cpp); of TOML this knows only the positions of keys.
#pragma once
#include "daemons/common/config/fwd.h"
#include <map>
#include <string>
#include <vector>

namespace config {

struct System;
class TomlReader;

// The listeners that filters name, by key ("milter.scan.listeners").
using ListenersByKey = std::map<std::string, std::vector<std::string>>;

// Completes what was read; what contradicts itself becomes a problem of `toml`.
void validate(Config& config, TomlReader& toml, const ListenersByKey& listeners_by_key, const System& system);

} // namespace config
