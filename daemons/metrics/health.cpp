#include "daemons/metrics/health.h"
#include <string_view>

namespace metrics {

namespace {

constexpr unsigned unavailable = 503;

Page failed(std::string_view reason) { return {.status = unavailable, .text = std::string(reason) + "\n"}; }

} // namespace

Page healthz(const ServiceHealth& health) {
    if (!health.queue_manager_answers) return failed("unhealthy: the queue-manager does not answer");
    return {.text = "healthy\n"};
}

Page readyz(const ServiceHealth& health) {
    if (!health.queue_manager_answers) return failed("not ready: the queue-manager does not answer");
    if (!health.accepting) return failed("not ready: no mail is accepted; \"postrider status\" shows why");
    if (health.listeners == 0) return failed("not ready: no listening socket is served");
    return {.text = "ready\n"};
}

} // namespace metrics
