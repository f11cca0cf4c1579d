// A scenario out of a mail log, as text that its author can go on with: postrider.scenario(5). Pure.
#pragma once
#include "daemons/postrider/simulate/from_log/played.h"
#include <string>
#include <string_view>

namespace postrider::simulate::from_log {

// `file`: the log's name. There is mail to play.
std::string scenario_text(const MailLog& log, const Played& played, std::string_view file);

// What is known of the log and what could not be made use of, in lines for a terminal.
std::string account_of(const MailLog& log, const Played& played, std::string_view file);

} // namespace postrider::simulate::from_log
