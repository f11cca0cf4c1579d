// Where log lines go: to the file that is configured, to syslog; and where nobody takes them there, to a file all the same,
// so that no line is lost in silence. Asks whether somebody listens; opens and writes nothing.
#pragma once
#include "daemons/common/config/config.h"
#include <string>

namespace common {

// Whether somebody receives there now. Does not wait, sends nothing.
bool syslog_answers(const std::string& socket);
// The file to open: log.file; "" where syslog is enough; else where lines go that syslog ought to have.
std::string log_file(const config::Config& config);
// "" while somebody has the lines that syslog ought to have; else who does not, where they go, and what to do.
std::string about_silent_syslog(const config::Config& config);

} // namespace common
