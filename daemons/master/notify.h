// Tells systemd how the service fares, where systemd is listening; elsewhere does nothing.
#pragma once
#include "libsmtp/time.h"
#include <optional>
#include <string>

namespace master {

void notify(const std::string& state); // "READY=1", "STOPPING=1", "STATUS=…"
// "RELOADING=1" with the time it needs; READY=1 follows when it is done.
void notify_reloading();
// "STOPPING=1", and that it may take so long, whatever TimeoutStopSec= says.
void notify_stopping(smtp::Duration within);
// How often systemd wants to hear WATCHDOG=1.
std::optional<smtp::Duration> watchdog_interval();

} // namespace master
