// Reports on TLS to other domains (RFC 8460): [tls_reports]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <string>

namespace config {

struct TlsReports { // RFC 8460
    bool enabled = false;
    std::string organization;  // never empty after parse(): the hostname
    std::string contact, from; // addresses; never empty after parse(): postmaster of the hostname
    Duration delay = 4h;       // a day's reports are sent within this time after its end
};

} // namespace config
