// Compares a mail log with its simulation: the same figures for both, in total and per recipient domain. Pure.
#pragma once
#include "daemons/simulate/from_log/traffic_groups.h"
#include "daemons/simulate/report/timeline.h"
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace postrider::simulate::from_log {

// As text. Lines have at most `width` characters (at least 80).
std::string comparison(const MailLog& log, const TrafficGroups& groups, const Timeline& timeline, std::size_t width);
nlohmann::json comparison_json(const MailLog& log, const TrafficGroups& groups, const Timeline& timeline);

} // namespace postrider::simulate::from_log
