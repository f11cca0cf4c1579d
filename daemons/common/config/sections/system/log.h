// Where log lines are written, and which: [log]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <cstdint>
#include <string>

namespace config {

enum class LogLevel { error, warning, info, debug };

struct Log {
    std::string file; // "" none
    bool syslog = true;
    std::string syslog_socket = "/dev/log";
    std::string name = "postfix"; // the tag before "/smtpd[…]:"
    LogLevel level = LogLevel::info;
    bool json = false;              // the file gets a JSON object per line
    std::uint64_t buffer = 1 * MiB; // of lines not yet written; more are counted and lost
};

} // namespace config
