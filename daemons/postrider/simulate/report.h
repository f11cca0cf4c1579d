// A chronicle as an operator reads it: what came of each link, what happened when, timetable and drawings;
// and the same as JSON. Pure.
#pragma once
#include "daemons/postrider/simulate/chronicle.h"
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace postrider::simulate {

std::string report(const Chronicle& chronicle);
nlohmann::json report_json(const Chronicle& chronicle);

} // namespace postrider::simulate
