#include "daemons/http/integration/hooks.h"
#include "daemons/common/proto/hook_control.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/endpoints/limits.h"
#include "daemons/http/requests/json_reader.h"
#include "daemons/http/requests/schemas.h"
#include "daemons/http/requests/times.h"
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
using tokens::Scope;
namespace hook_op = proto::hook_control::op;

namespace {

constexpr std::uint64_t largest_number = std::uint64_t{1} << 62; // of an event
constexpr auto longest_test = std::chrono::seconds(330);         // more than the longest hook.timeout

// The path of a URL, and arguments of a command, may be secrets.
std::string without_secrets(const std::string& target) {
    const auto scheme = target.find("://");
    const auto end = scheme == target.npos ? target.find(' ') : target.find('/', scheme + 3);
    return end == target.npos ? target : target.substr(0, end) + "…";
}

void list_hooks(Services& services, const std::shared_ptr<Call>& call) {
    services.hooks.ask(call->caller().principal, {{"op", hook_op::list}}, [call](QueueClient::Answer answer) {
        if (answer.failure) return call->respond(problem_of(*answer.failure));
        const auto now = std::chrono::floor<std::chrono::seconds>(common::Loop::now().wall).time_since_epoch().count();
        for (auto& line : answer.lines) {
            if (const auto wait = line.value("next_attempt", std::int64_t{0}); wait > 0)
                line["next_attempt"] = now + wait;
            show_times(line);
            if (line.value("oldest", "").empty()) line["oldest"] = nullptr;
            if (!call->caller().scopes.has(Scope::admin)) line["target"] = without_secrets(line.value("target", ""));
        }
        call->respond(list_response(call->request(), "hooks", std::move(answer.lines)));
    });
}

void carry_out(Services& services, const std::shared_ptr<Call>& call, json request) {
    request["hook"] = call->value(0);
    if (const auto why = call->parameter("why"); !why.empty()) request["why"] = why;
    services.hooks.ask(
        call->caller().principal, std::move(request),
        [call](const QueueClient::Answer& answer) {
            if (answer.failure) return call->respond(problem_of(*answer.failure));
            auto out = answer.lines.empty() ? json::object() : answer.lines.front();
            out["hook"] = call->value(0);
            call->respond(json_response(200, out));
        },
        {}, longest_test);
}

void replay(Services& services, const std::shared_ptr<Call>& call) {
    const auto object = read_json(call->request().body);
    if (!object) return call->respond(object.error());
    Members members(*object);
    const auto start_at = members.number("start_at", largest_number);
    const auto why = members.text("why");
    if (start_at == 0) members.wrong("start_at", "the number of an event");
    if (const auto wrong = members.problem()) return call->respond(*wrong);
    json request = {{"op", hook_op::replay}, {"start_at", start_at}};
    if (!why.empty()) request["why"] = why;
    carry_out(services, call, std::move(request));
}

// Only the event that the client has seen as the next one.
void skip(Services& services, const std::shared_ptr<Call>& call) {
    const auto event = number_in(call->request(), "event", 0, largest_number);
    if (!event) return call->respond(event.error());
    if (*event == 0)
        return call->respond(
            Problem{400, "invalid-request", "event: expected the number of the event that is sent next."});
    carry_out(services, call, {{"op", hook_op::skip}, {"event", *event}});
}

} // namespace

void add_hooks(Router& router, Services& services) {
    router.add({.method = "GET",
                .path = "/v1/hooks",
                .scope = Scope::read,
                .summary = "List hooks",
                .answer = schema::hooks,
                .answer_types = {json_type, lines_type},
                .statuses = {200, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { list_hooks(services, call); }});
    const Parameter why{"why", "For the log"};
    const auto command = [&](std::string_view path, std::string_view operation, std::string_view summary) {
        router.add({.method = "POST",
                    .path = path,
                    .scope = Scope::admin,
                    .summary = summary,
                    .parameters = {why},
                    .answer = schema::hook_result,
                    .statuses = {200, 400, 404, 409, 503},
                    .handle = [&services, operation](const std::shared_ptr<Call>& call) {
                        carry_out(services, call, {{"op", operation}});
                    }});
    };
    command("/v1/hooks/{name}/test", hook_op::test, "Send an event hook.test");
    command("/v1/hooks/{name}/pause", hook_op::pause, "Pause a hook");
    command("/v1/hooks/{name}/resume", hook_op::resume, "Resume a hook");
    router.add({.method = "POST",
                .path = "/v1/hooks/{name}/skip",
                .scope = Scope::admin,
                .summary = "Give up the event that is sent next",
                .parameters = {{"event", "Its number: no other event is given up", Parameter::Kind::number}, why},
                .answer = schema::hook_result,
                .statuses = {200, 400, 404, 409, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { skip(services, call); }});
    router.add({.method = "POST",
                .path = "/v1/hooks/{name}/replay",
                .scope = Scope::admin,
                .summary = "Continue with an earlier event",
                .accepts = {json_type},
                .body = schema::hook_replay,
                .answer = schema::hook_result,
                .statuses = {200, 400, 404, 409, 415, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { replay(services, call); }});
}

} // namespace http
