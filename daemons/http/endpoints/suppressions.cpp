#include "daemons/http/endpoints/suppressions.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/endpoints/limits.h"
#include "daemons/http/lists/cursor.h"
#include "daemons/http/requests/json_reader.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/schemas.h"
#include "daemons/http/requests/times.h"
#include "libsmtp/text/date.h"
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
using tokens::Scope;
namespace op = proto::control::op;

namespace {

// The mail that an entry is for, or that is asked about.
void set_scope(json& request, const Call& call) {
    for (const auto* name : {"sender", "pool", "lane"}) request[name] = call.parameter(name);
}

constexpr const char* name_members[] = {"recipient", "sender", "pool", "lane"};

std::string cursor_after(const json& entry) {
    std::vector<std::string> place;
    for (const auto* name : name_members) place.push_back(entry.value(name, ""));
    return cursor_of(place);
}

// One more than is asked for shows whether there are more.
void list_entries(Services& services, const std::shared_ptr<Call>& call) {
    const auto limit = limit_in(call->request());
    if (!limit) return call->respond(limit.error());
    json request = {{"op", op::suppressions}, {"limit", *limit + 1}};
    if (const auto after = call->parameter("after"); !after.empty()) {
        const auto place = read_cursor(after, std::size(name_members));
        if (!place)
            return call->respond(Problem{400, "invalid-request", "after: expected \"next\" of a list's answer."});
        for (std::size_t i = 0; i < place->size(); ++i) request["after"][name_members[i]] = (*place)[i];
    }
    for (const auto& [name, value] : call->request().parameters)
        if (name == "filter") request["filter"].push_back(value);
    services.queue.ask(call->caller().principal, std::move(request),
                       [call, limit = *limit](QueueClient::Answer answer) {
                           if (answer.failure) return call->respond(problem_of(*answer.failure));
                           std::string next;
                           if (answer.lines.size() > limit) {
                               answer.lines.resize(limit);
                               next = cursor_after(answer.lines.back());
                           }
                           for (auto& line : answer.lines) show_times(line);
                           call->respond(list_response(call->request(), "suppressions", std::move(answer.lines), next));
                       });
}

void check_entry(Services& services, const std::shared_ptr<Call>& call) {
    json request = {{"op", op::suppressed}, {"address", call->value(0)}};
    set_scope(request, *call);
    services.queue.ask(call->caller().principal, std::move(request), [call](QueueClient::Answer answer) {
        if (answer.failure) return call->respond(problem_of(*answer.failure));
        if (answer.lines.empty())
            return call->respond(Problem{404, "not-found", "No entry of the suppression list covers this recipient."});
        show_times(answer.lines.front());
        call->respond(json_response(200, answer.lines.front()));
    });
}

void add_entry(Services& services, const std::shared_ptr<Call>& call) {
    const auto object = read_json(call->request().body);
    if (!object) return call->respond(object.error());
    Members members(*object);
    json entry = {{"recipient", members.text("recipient")}, {"sender", members.text("sender")},
                  {"pool", members.text("pool")},           {"lane", members.text("lane")},
                  {"reason", members.text("reason")},       {"reply", members.text("reply")}};
    if (!members.has("recipient")) members.wrong("recipient", "an address or a domain");
    if (const auto text = members.text("expires"); !text.empty()) {
        const auto time = smtp::parse_rfc3339(text);
        if (!time) members.wrong("expires", "a time such as 2027-01-01T00:00:00Z");
        if (time) entry["expires"] = std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
    }
    if (const auto wrong = members.problem()) return call->respond(*wrong);
    json request = {{"op", op::suppress}, {"entries", json::array({std::move(entry)})}};
    services.queue.ask(call->caller().principal, std::move(request), [call](const QueueClient::Answer& answer) {
        if (answer.failure) return call->respond(problem_of(*answer.failure));
        call->respond(json_response(200, answer.lines.empty() ? json::object() : answer.lines.front()));
    });
}

void remove_entry(Services& services, const std::shared_ptr<Call>& call) {
    json entry = {{"recipient", call->value(0)}};
    set_scope(entry, *call);
    json request = {{"op", op::unsuppress}, {"entries", json::array({std::move(entry)})}};
    services.queue.ask(call->caller().principal, std::move(request), [call](const QueueClient::Answer& answer) {
        if (answer.failure) return call->respond(problem_of(*answer.failure));
        const auto counts = answer.lines.empty() ? json::object() : answer.lines.front();
        if (counts.value("removed", 0) == 0)
            return call->respond(Problem{404, "not-found", "There is no such entry in the suppression list."});
        call->respond(json_response(200, counts));
    });
}

} // namespace

void add_suppressions(Router& router, Services& services) {
    const auto route = [&](std::string_view method, std::string_view path, Scope scope, std::string_view summary,
                           std::vector<Parameter> parameters, std::string_view body, std::string_view schema,
                           std::vector<std::string_view> types, std::vector<unsigned> statuses, auto answer) {
        std::vector<std::string_view> accepts;
        if (!body.empty()) accepts.push_back(json_type);
        router.add({.method = method,
                    .path = path,
                    .scope = scope,
                    .summary = summary,
                    .parameters = std::move(parameters),
                    .accepts = std::move(accepts),
                    .body = body,
                    .answer = schema,
                    .answer_types = std::move(types),
                    .statuses = std::move(statuses),
                    .handle = [&services, answer](const std::shared_ptr<Call>& call) { answer(services, call); }});
    };
    const Parameter sender{"sender", "Domain of senders that the entry is for; empty: all"},
        pool{"pool", "Pool that the entry is for"}, lane{"lane", "Lane that the entry is for"};
    route(
        "GET", "/v1/suppressions", Scope::read, "List suppressed recipients",
        {{"filter", "Words that select entries, as in postrider-suppress(8); may be repeated", Parameter::Kind::texts},
         {"limit", "Maximum number of entries: 100 by default, at most 1000", Parameter::Kind::number}},
        {}, schema::suppressions, {json_type, lines_type}, {200, 400, 503}, list_entries);
    route("GET", "/v1/suppressions/{address}", Scope::read, "Show the entry that covers a recipient",
          {sender, pool, lane}, {}, schema::suppression, {json_type}, {200, 400, 404, 503}, check_entry);
    route("POST", "/v1/suppressions", Scope::suppress, "Suppress a recipient", {}, schema::new_suppression,
          schema::suppressed, {json_type}, {200, 400, 415, 503}, add_entry);
    route("DELETE", "/v1/suppressions/{address}", Scope::suppress, "Allow mail to a recipient again",
          {sender, pool, lane}, {}, schema::allowed, {json_type}, {200, 400, 404, 503}, remove_entry);
}

} // namespace http
