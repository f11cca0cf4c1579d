#include "daemons/http/endpoints/queue_views.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/endpoints/limits.h"
#include "daemons/http/lists/cursor.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/schemas.h"
#include "daemons/http/requests/times.h"
#include "libsmtp/text/text.h"
#include <expected>
#include <limits>
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

// A part of a list of links or queues, which are in the order of their deliveries, and then of their names.
struct Busiest {
    const char* name; // of the member that names each of them
    std::uint64_t limit = 0;

    // One more than is asked for shows whether there are more.
    static std::expected<Busiest, Problem> of(const Call& call, const char* name, json& request) {
        const auto limit = limit_in(call.request());
        if (!limit) return std::unexpected(limit.error());
        request["limit"] = *limit + 1;
        if (const auto after = call.parameter("after"); !after.empty()) {
            const auto place = read_cursor(after, 2);
            const auto deliveries =
                place ? smtp::parse_number(place->front(), std::numeric_limits<std::uint32_t>::max()) : std::nullopt;
            if (!deliveries)
                return std::unexpected(Problem{400, "invalid-request", "after: expected \"next\" of a list's answer."});
            request["after"] = {{"deliveries", *deliveries}, {name, place->back()}};
        }
        return Busiest{.name = name, .limit = *limit};
    }
    // Takes off what is too much, and returns where it begins; "": nothing is.
    std::string cut(std::vector<json>& lines) const {
        if (lines.size() <= limit) return {};
        lines.resize(limit);
        const auto& last = lines.back();
        return cursor_of({std::to_string(last.value("deliveries", 0U)), last.value(name, "")});
    }
};

void list_busiest(Services& services, const std::shared_ptr<Call>& call, std::string_view operation, const char* name,
                  std::string_view list) {
    json request = {{"op", operation}};
    const auto part = Busiest::of(*call, name, request);
    if (!part) return call->respond(part.error());
    show_answer(services, call, std::move(request),
                [part = *part, list](const web::Request& asked, std::vector<json> lines) {
                    const auto next = part.cut(lines);
                    return list_response(asked, list, std::move(lines), next);
                });
}

// A link, and a part of its queues.
void show_link(Services& services, const std::shared_ptr<Call>& call) {
    json request = {{"op", op::link}, {"link", call->value(0)}};
    const auto part = Busiest::of(*call, "queue", request);
    if (!part) return call->respond(part.error());
    show_answer(services, call, std::move(request), [part = *part](const web::Request&, std::vector<json> lines) {
        if (lines.empty()) return json_response(200, json::object());
        auto link = std::move(lines.front());
        lines.erase(lines.begin());
        const auto next = part.cut(lines);
        link["queues_of_link"] = std::move(lines);
        link["next"] = next.empty() ? json() : json(next);
        return json_response(200, link);
    });
}

web::Response pauses(const web::Request& request, std::vector<json> lines) {
    std::vector<json> all;
    if (!lines.empty())
        for (auto& each : lines.front()["pauses"]) all.push_back(std::move(each));
    return list_response(request, "pauses", std::move(all));
}

} // namespace

void add_queue_views(Router& router, Services& services) {
    const auto part = [&](std::string_view path, std::string_view summary, std::string_view schema,
                          std::vector<std::string_view> types, std::vector<unsigned> statuses, auto answer) {
        router.add({.method = "GET",
                    .path = path,
                    .scope = Scope::read,
                    .summary = summary,
                    .parameters = {{"limit", "Maximum number: 100 by default, at most 1000", Parameter::Kind::number},
                                   {"after", "Continue there: \"next\" of the previous answer"}},
                    .answer = schema,
                    .answer_types = std::move(types),
                    .statuses = std::move(statuses),
                    .handle = [&services, answer](const std::shared_ptr<Call>& call) { answer(services, call); }});
    };
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
    view("/v1/recent", "Show what has changed in the last hour, and the traffic by minute", op::recent, nullptr,
         schema::recent, {json_type}, first);
    part("/v1/links", "List links, those with the most mail first", schema::links, {json_type, lines_type},
         {200, 400, 503},
         [](Services& all, const std::shared_ptr<Call>& call) { list_busiest(all, call, op::links, "link", "links"); });
    part("/v1/links/{name}", "Show a link and its queues, those with the most mail first", schema::link, {json_type},
         {200, 400, 404, 503}, show_link);
    part("/v1/queues", "List queues, those with the most mail first", schema::queues, {json_type, lines_type},
         {200, 400, 503}, [](Services& all, const std::shared_ptr<Call>& call) {
             list_busiest(all, call, op::queues, "queue", "queues");
         });
    view("/v1/queues/{name}", "Show a queue", op::queue, "queue", schema::queue, {json_type}, first);
    view("/v1/pauses", "List pauses", op::status, nullptr, schema::pauses, {json_type, lines_type}, pauses);
}

} // namespace http
