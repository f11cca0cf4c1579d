// The state of the whole service, as one line for systemd's status text. Pure: facts in, text out.
#pragma once
#include <string>

namespace master {

struct ServiceStatus {
    enum class Stage { starting, running, reloading, stopping } stage = Stage::starting;
    unsigned processes = 0;
    std::string waiting_for; // the processes that are not (or no longer) ready, with why; "" none
    std::string queue;       // the queue-manager's status text; "" none yet
};

// "running: 3 messages queued", "starting: waiting for smtpd/0 (…)"; one line of at most max_status_text bytes.
std::string text_of(const ServiceStatus& status);
inline constexpr std::size_t max_status_text = 300;

} // namespace master
