// For those who only pass a reference to the configuration on. Its sections are in sections/, all of it in config.h.
#pragma once

namespace config {

struct Config;

} // namespace config
