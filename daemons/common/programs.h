// Where our other programs are: beside the running one, else where they were installed.
#pragma once
#include <string>
#include <string_view>

namespace common {

// The path to run; the installed place if there is none beside us, whether or not it exists.
std::string program_path(std::string_view name);

} // namespace common
