// The answers to the probes /healthz and /readyz, from what the last collection has shown. Pure.
#pragma once
#include "daemons/metrics/page.h"
#include <cstdint>

namespace metrics {

struct ServiceHealth {
    bool queue_manager_answers = false;
    bool accepting = false;     // the queue-manager lets mail in: the spool is writable, a writer is connected
    std::int64_t listeners = 0; // listening sockets on which connections are accepted
};

Page healthz(const ServiceHealth& health); // 200 while the queue-manager answers, else 503
Page readyz(const ServiceHealth& health);  // 200 while mail is accepted, else 503

} // namespace metrics
