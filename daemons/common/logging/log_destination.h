// Where log lines go: to the configured file, to syslog, or to a default file if there is neither a file nor a syslog
// daemon, so that no line is lost silently. Probes the syslog socket; opens and writes nothing.
#pragma once
#include "daemons/common/config/fwd.h"
#include <string>

namespace common {

// Whether a daemon is receiving on this socket. Does not wait, sends nothing.
bool syslog_answers(const std::string& socket);
// The file to open: log.file, the default file if syslog is off or not available, or "" if syslog is enough.
std::string log_file(const config::Config& config);
// "" if log lines reach their destination; else the problem, where they go instead, and what to do.
std::string log_warning(const config::Config& config);

} // namespace common
