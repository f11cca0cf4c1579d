#include "daemons/http/endpoints/health.h"
#include <nlohmann/json.hpp>

namespace http {

namespace {

constexpr unsigned unavailable = 503;
constexpr auto patience = std::chrono::seconds(5);

web::Response text(unsigned status, std::string body) { return {.status = status, .body = std::move(body) + "\n"}; }

void ask(Services& services, const std::shared_ptr<Call>& call,
         std::function<web::Response(const nlohmann::json& status)> judge) {
    services.queue.ask(
        {.uid = 0, .name = "probe"}, {{"op", "status"}},
        [call, judge = std::move(judge)](const QueueClient::Answer& answer) {
            if (answer.failure || answer.lines.empty())
                return call->respond(text(unavailable, "unhealthy: the queue-manager does not answer"));
            call->respond(judge(answer.lines.front()));
        },
        {}, patience);
}

} // namespace

void add_health(Router& router, Services& services) {
    router.add({.method = "GET",
                .path = "/healthz",
                .scope = {},
                .summary = "Whether the queue-manager answers",
                .answer_types = {"text/plain"},
                .statuses = {200, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) {
                    ask(services, call, [](const auto&) { return text(200, "healthy"); });
                }});
    router.add({.method = "GET",
                .path = "/readyz",
                .scope = {},
                .summary = "Whether mail is accepted",
                .answer_types = {"text/plain"},
                .statuses = {200, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) {
                    ask(services, call, [](const nlohmann::json& status) {
                        return status.value("accepting", false)
                                   ? text(200, "ready")
                                   : text(unavailable,
                                          "not ready: no mail is accepted; \"postrider status\" shows why");
                    });
                }});
}

} // namespace http
