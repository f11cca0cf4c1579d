// Errors in the files that a configuration names: tables, keys, certificates, templates.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/problem.h"
#include <vector>

namespace postrider {

// Of the files that may be read by the user that runs this.
std::vector<config::Problem> problems_in_files(const config::Config& config);

} // namespace postrider
