#include "daemons/http/endpoints/messages.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/endpoints/history.h"
#include "daemons/http/endpoints/limits.h"
#include "daemons/http/requests/schemas.h"
#include "daemons/http/requests/times.h"
#include "libsmtp/text/text.h"
#include <limits>
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
using tokens::Scope;
namespace op = proto::control::op;

namespace {

constexpr auto moment = std::chrono::milliseconds(500);
constexpr std::uint64_t listed_recipients = 10; // of each message of a list

enum class Attempt : bool { first, last };

// A message that is no longer queued, from the journal. What has just left the queue is there a moment later.
void show_gone(Services& services, const std::shared_ptr<Call>& call, const ListPart& part, Attempt attempt) {
    services.journal.message(call->value(0), [&services, call, part, attempt](const JournalReader::Answer& answer) {
        if (const auto problem = problem_of(answer)) return call->respond(*problem);
        if (!answer.messages.empty())
            return call->respond(json_response(200, json_of(answer.messages.front().history, part)));
        if (attempt == Attempt::last) return call->respond(Problem{404, "not-found", "There is no such message."});
        services.later.after(moment, [&services, call, part] { show_gone(services, call, part, Attempt::last); });
    });
}

// One more than is asked for shows whether there are more.
void list_messages(Services& services, const std::shared_ptr<Call>& call) {
    const auto limit = limit_in(call->request());
    if (!limit) return call->respond(limit.error());
    json request = {{"op", op::messages}, {"limit", *limit + 1}, {"recipients", listed_recipients}};
    for (const auto& [name, value] : call->request().parameters)
        if (name == "filter") request["filter"].push_back(value);
    if (const auto after = call->parameter("after"); !after.empty()) request["after_id"] = after;
    if (const auto sort = call->parameter("sort"); !sort.empty()) request["sort"] = sort;
    if (const auto text = call->parameter("effort"); !text.empty()) {
        const auto effort = smtp::parse_number(text, std::numeric_limits<std::int64_t>::max());
        if (!effort || *effort == 0)
            return call->respond(Problem{400, "invalid-request", "effort: expected a number above 0."});
        request["effort"] = *effort;
    }
    services.queue.ask(call->caller().principal, std::move(request),
                       [call, limit = *limit](QueueClient::Answer answer) {
                           if (answer.failure) return call->respond(problem_of(*answer.failure));
                           std::string next;
                           if (!answer.lines.empty() && answer.lines.back().contains("continue_after")) {
                               next = answer.lines.back().value("continue_after", "");
                               answer.lines.pop_back();
                           }
                           if (answer.lines.size() > limit) {
                               answer.lines.resize(limit);
                               next = answer.lines.back().value("id", "");
                           }
                           for (auto& line : answer.lines) show_times(line);
                           call->respond(list_response(call->request(), "messages", std::move(answer.lines), next));
                       });
}

void show_message(Services& services, const std::shared_ptr<Call>& call) {
    const auto part = part_in(call->request());
    if (!part) return call->respond(part.error());
    json request = {{"op", op::message}, {"id", call->value(0)}, {"from", part->from}, {"limit", part->limit}};
    services.queue.ask(call->caller().principal, std::move(request),
                       [&services, call, part](QueueClient::Answer answer) {
                           if (answer.failure && answer.failure->code != proto::control::code::unknown)
                               return call->respond(problem_of(*answer.failure));
                           if (answer.lines.empty()) return show_gone(services, call, *part, Attempt::first);
                           auto& message = answer.lines.front();
                           const auto next = message.value("recipients_next", std::uint64_t{0});
                           message.erase("recipients_next");
                           message["next"] = next == 0 ? json() : json(std::to_string(next));
                           show_times(message);
                           call->respond(json_response(200, message));
                       });
}

// One more than is asked for shows whether there are more.
void explain_message(Services& services, const std::shared_ptr<Call>& call) {
    const auto part = part_in(call->request());
    if (!part) return call->respond(part.error());
    json request = {{"op", op::explain}, {"id", call->value(0)}, {"from", part->from}, {"limit", part->limit + 1}};
    services.queue.ask(call->caller().principal, std::move(request),
                       [call, limit = part->limit](QueueClient::Answer answer) {
                           if (answer.failure) return call->respond(problem_of(*answer.failure));
                           std::string next;
                           if (answer.lines.size() > limit) {
                               next = std::to_string(answer.lines.back().value("number", std::uint64_t{0}));
                               answer.lines.pop_back();
                           }
                           for (auto& line : answer.lines) {
                               line.erase("number");
                               show_times(line);
                           }
                           call->respond(list_response(call->request(), "recipients", std::move(answer.lines), next));
                       });
}

void remove_message(Services& services, const std::shared_ptr<Call>& call) {
    const auto report = call->parameter("report"), why = call->parameter("why");
    if (!report.empty() && report != "true" && report != "false")
        return call->respond(Problem{400, "invalid-request", "report: expected true or false."});
    json request = {{"op", report == "true" ? op::expire : op::remove},
                    {"ids", {call->value(0)}},
                    {"reason", why.empty() ? "removed over HTTP" : std::string(why)}};
    services.queue.ask(call->caller().principal, std::move(request), [call](const QueueClient::Answer& answer) {
        if (const auto problem = problem_of_removal(answer)) return call->respond(*problem);
        call->respond(json_response(200, {{"id", call->value(0)}, {"removed", true}}));
    });
}

} // namespace

void add_messages(Router& router, Services& services) {
    const auto add = [&](std::string_view method, std::string_view path, Scope scope, std::string_view summary,
                         std::vector<Parameter> parameters, std::string_view schema,
                         std::vector<std::string_view> types, std::vector<unsigned> statuses, auto answer) {
        router.add({.method = method,
                    .path = path,
                    .scope = scope,
                    .summary = summary,
                    .parameters = std::move(parameters),
                    .answer = schema,
                    .answer_types = std::move(types),
                    .statuses = std::move(statuses),
                    .handle = [&services, answer](const std::shared_ptr<Call>& call) { answer(services, call); }});
    };
    add("GET", "/v1/messages", Scope::read, "List queued messages",
        {{"filter", "Words that select messages, as in postrider-message(8); may be repeated", Parameter::Kind::texts},
         {"limit", "Maximum number of messages: 100 by default, at most 1000", Parameter::Kind::number},
         {"after", "Continue after this message: \"next\" of the previous answer"},
         {"sort", "oldest, newest, largest or next"},
         {"effort",
          "What the search may take: 1 for each message that is visited, 10 for one that is read; \"next\" then leads "
          "on, even without messages",
          Parameter::Kind::number}},
        schema::messages, {json_type, lines_type}, {200, 400, 404, 503}, list_messages);
    const std::vector<Parameter> of_recipients = {
        {"limit", "Maximum number of recipients: 100 by default, at most 1000", Parameter::Kind::number},
        {"after", "Continue there: \"next\" of the previous answer"}};
    add("GET", "/v1/messages/{id}", Scope::read, "Show a message", of_recipients, schema::message, {json_type},
        {200, 400, 404, 503}, show_message);
    add("GET", "/v1/messages/{id}/explain", Scope::read, "Explain what a message waits for", of_recipients,
        schema::explanation, {json_type, lines_type}, {200, 400, 404, 503}, explain_message);
    add("DELETE", "/v1/messages/{id}", Scope::remove, "Remove a message",
        {{"report", "true: it expires, and its sender gets a report", Parameter::Kind::flag},
         {"why", "Reason, kept in the journal"}},
        schema::removal, {json_type}, {200, 400, 404, 409, 503}, remove_message);
}

} // namespace http
