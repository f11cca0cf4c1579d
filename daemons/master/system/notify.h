// Reports the state of the service to systemd, if systemd is listening (sd_notify(3)); otherwise does nothing. Never
// waits for it: mail continues while systemd is busy. Knows nothing about what the texts mean.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "libsmtp/text/time_types.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace master {

class Notifier {
public:
    // `address`: a path, or '@' and an abstract name; "" none.
    explicit Notifier(std::string_view address);

    // "READY=1", "STATUS=…". What systemd has no room for is kept, the latest of each kind, in order.
    void send(std::string words);
    // Sends what was kept, as far as there is room.
    void send_pending();

    // "RELOADING=1" with the time it needs; READY=1 follows when it is done.
    void reloading();
    // "STOPPING=1", and that it may take this long, overriding TimeoutStopSec=.
    void stopping(smtp::Duration within);

private:
    std::string address_; // of the socket, in the kernel's form; "" none
    common::Fd socket_;
    std::vector<std::string> pending_;
};

// How often systemd expects WATCHDOG=1.
std::optional<smtp::Duration> watchdog_interval();

} // namespace master
