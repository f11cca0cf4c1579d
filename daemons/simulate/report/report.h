// A chronicle as an operator reads it: what came of each link, what happened when, timetable and drawings,
// and what it comes to in a few sentences; and the same as JSON. Pure.
#pragma once
#include "daemons/simulate/report/timeline.h"
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace postrider::simulate {

// Of a line.
constexpr std::size_t narrowest = 80, widest = 300;

// So many columns of drawing fit into lines of that width.
std::size_t columns_within(std::size_t width);

// No line is longer than `width`, or `narrowest`.
std::string report(const Chronicle& chronicle, std::size_t width = 80);
// "What happens?", in sentences; the last paragraph of report().
std::string in_short(const Chronicle& chronicle);

nlohmann::json report_json(const Chronicle& chronicle);

} // namespace postrider::simulate
