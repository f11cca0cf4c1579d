// The value of a key as it would be written in a file. Pure.
#pragma once
#include "daemons/common/config/schema/key.h"
#include <string>

namespace config {

// As TOML: "\"60s\"", "[\"a\", \"b\"]", "true".
std::string shown_value(const Key& key);

} // namespace config
