// mta.origin, for code that does not see the whole configuration.
#pragma once
#include <string>

namespace config {

struct Config;

const std::string& origin_of(const Config& config);

} // namespace config
