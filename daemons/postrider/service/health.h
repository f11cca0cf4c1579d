// Whether the service works and whether it accepts mail, in one line for health checks of containers and monitors.
// Pure.
#pragma once
#include "daemons/postrider/service/status.h"
#include <string>

namespace postrider {

struct Health {
    std::string fault;     // why the service does not work as a whole; "": it works
    std::string not_ready; // why it accepts no mail; "": it does
    std::string text;      // what else is of interest: the number of messages
};

// `data`: null if the service does not run.
Health health_of(const StatusData* data);

// What `status --brief` prints, and with `ready` `status --ready`: a line without its end.
std::string health_line(const Health& health, bool ready);

} // namespace postrider
