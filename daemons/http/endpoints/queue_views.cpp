#include "daemons/http/endpoints/queue_views.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/schemas.h"
#include "daemons/http/requests/times.h"
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
using tokens::Scope;
namespace op = proto::control::op;

namespace {

using Show = std::function<web::Response(const web::Request&, std::vector<json>)>;

// The queue-manager's answer to `request`, as `show` makes a response of it.
void show_answer(Services& services, const std::shared_ptr<Call>& call, json request, Show show) {
    services.queue.ask(call->caller().principal, std::move(request),
                       [call, show = std::move(show)](QueueClient::Answer answer) {
                           if (answer.failure) return call->respond(problem_of(*answer.failure));
                           for (auto& line : answer.lines) show_times(line);
                           call->respond(show(call->request(), std::move(answer.lines)));
                       });
}

web::Response first(const web::Request&, std::vector<json> lines) {
    return json_response(200, lines.empty() ? json::object() : lines.front());
}

Show as_list(std::string_view name) {
    return [name](const web::Request& request, std::vector<json> lines) {
        return list_response(request, name, std::move(lines));
    };
}

web::Response link_with_queues(const web::Request&, std::vector<json> lines) {
    if (lines.empty()) return json_response(200, json::object());
    auto link = std::move(lines.front());
    lines.erase(lines.begin());
    link["queues_of_link"] = std::move(lines);
    return json_response(200, link);
}

web::Response pauses(const web::Request& request, std::vector<json> lines) {
    std::vector<json> all;
    if (!lines.empty())
        for (auto& each : lines.front()["pauses"]) all.push_back(std::move(each));
    return list_response(request, "pauses", std::move(all));
}

} // namespace

void add_queue_views(Router& router, Services& services) {
    const auto view = [&](std::string_view path, std::string_view summary, std::string_view operation,
                          const char* variable, std::string_view schema, std::vector<std::string_view> types,
                          Show show) {
        router.add({.method = "GET",
                    .path = path,
                    .scope = Scope::read,
                    .summary = summary,
                    .answer = schema,
                    .answer_types = std::move(types),
                    .statuses = variable ? std::vector<unsigned>{200, 404, 503} : std::vector<unsigned>{200, 503},
                    .handle = [&services, operation, variable, show](const std::shared_ptr<Call>& call) {
                        json request = {{"op", operation}};
                        if (variable) request[variable] = call->value(0);
                        show_answer(services, call, std::move(request), show);
                    }});
    };
    view("/v1/status", "Show the state of the mail system", op::status, nullptr, schema::status, {json_type}, first);
    view("/v1/links", "List links", op::links, nullptr, schema::links, {json_type, lines_type}, as_list("links"));
    view("/v1/links/{name}", "Show a link and its queues", op::link, "link", schema::link, {json_type},
         link_with_queues);
    view("/v1/queues", "List queues", op::queues, nullptr, schema::queues, {json_type, lines_type}, as_list("queues"));
    view("/v1/queues/{name}", "Show a queue", op::queue, "queue", schema::queue, {json_type}, first);
    view("/v1/pauses", "List pauses", op::status, nullptr, schema::pauses, {json_type, lines_type}, pauses);
}

} // namespace http
