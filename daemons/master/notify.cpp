#include "daemons/master/notify.h"
#ifdef HAVE_SYSTEMD
#include <ctime>
#include <systemd/sd-daemon.h>
#endif

namespace master {

#ifdef HAVE_SYSTEMD
void notify(const std::string& state) { sd_notify(0, state.c_str()); }

void notify_reloading() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const auto microseconds = static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", microseconds);
}

void notify_stopping(smtp::Duration within) {
    sd_notifyf(0, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld", static_cast<long long>(within.count()));
}

std::optional<smtp::Duration> watchdog_interval() {
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) <= 0) return {};
    return smtp::Duration(microseconds / 2);
}
#else
void notify(const std::string&) {}
void notify_reloading() {}
void notify_stopping(smtp::Duration) {}
std::optional<smtp::Duration> watchdog_interval() { return {}; }
#endif

} // namespace master
