// The report on a timeline: the results of each link, the events, timetable and charts, and a conclusion in a few
// sentences; and the same as JSON. Pure.
#pragma once
#include "daemons/simulate/report/timeline.h"
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace postrider::simulate {

// Of a line.
constexpr std::size_t min_width = 80, max_width = 300;

// The number of chart columns that fit into lines of that width.
std::size_t chart_columns(std::size_t width);

// No line is longer than `width`, or `min_width`.
std::string report(const Timeline& timeline, std::size_t width = 80);
// The result in a few sentences; the last paragraph of report().
std::string conclusion(const Timeline& timeline);

nlohmann::json report_json(const Timeline& timeline);

} // namespace postrider::simulate
