// Writes the scenario derived from a mail log, in the format of postrider.scenario(5). Pure.
#pragma once
#include "daemons/simulate/from_log/traffic_groups.h"
#include <string>
#include <string_view>

namespace postrider::simulate::from_log {

// `file`: name of the log. Requires at least one group.
std::string scenario_text(const MailLog& log, const TrafficGroups& groups, std::string_view file);

// A few lines about the log: what was found, and what was left out and why.
std::string summary_of(const MailLog& log, const TrafficGroups& groups, std::string_view file);

} // namespace postrider::simulate::from_log
