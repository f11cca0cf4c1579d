// The location of our other programs: beside the running one, unless that
// is the installed command postrider; otherwise the installation directory.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/system/http.h"
#include "daemons/common/process/process_plan.h"
#include <string>
#include <string_view>
#include <vector>

namespace common {

// The path to run; the installed place if there is none beside us, whether or not it exists.
std::string program_path(std::string_view name);
// The same for a program that carries out a command of `postrider`, which also runs from a build directory: there, each
// program is in a folder of its own name.
std::string command_program_path(std::string_view name);

// Why this program cannot be run, by the error that execv() or access() returned, and what to do.
std::string cannot_run(const std::string& path, int error);

// Programs that the configuration asks for, master among them, that are not where they must be or cannot be run: a
// line for each, with what to do. Without that of missing_package().
std::vector<std::string> missing_programs(const config::Config& config);

// The plan without the processes http, maps and fleet where they are configured, but their packages are not installed:
// other mail does not need them.
std::vector<PlannedProcess> installed_plan(const config::Config& config);
// What is missing then, and what to do; "" nothing.
std::string missing_package(const config::Http& http);
std::string missing_maps_package(const config::Config& config);  // the same, of tables in databases
std::string missing_fleet_package(const config::Config& config); // and of the store that nodes share

} // namespace common
