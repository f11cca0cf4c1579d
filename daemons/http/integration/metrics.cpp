#include "daemons/http/integration/metrics.h"

namespace http {

namespace {

constexpr std::string_view prometheus = "text/plain; version=0.0.4; charset=utf-8";

void show_metrics(Services& services, const std::shared_ptr<Call>& call) {
    if (!services.has_metrics)
        return call->respond(Problem{404, "not-found",
                                     "There are no metrics: metrics.listen is empty in the configuration, so that "
                                     "nothing collects them."});
    services.metrics.ask([call](const std::optional<std::string>& text) {
        if (!text) return call->respond(Problem{503, "unavailable", "The metrics process does not answer.", 5});
        call->respond({.status = 200, .type = std::string(prometheus), .body = *text, .headers = {}});
    });
}

} // namespace

void add_metrics(Router& router, Services& services) {
    router.add({.method = "GET",
                .path = "/metrics",
                .scope = tokens::Scope::read,
                .summary = "Metrics for Prometheus",
                .answer_types = {"text/plain"},
                .statuses = {200, 404, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { show_metrics(services, call); }});
}

} // namespace http
