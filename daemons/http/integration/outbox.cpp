#include "daemons/http/integration/outbox.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/integration/outbox_view.h"
#include "daemons/http/requests/schemas.h"
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
using tokens::Scope;

namespace {

constexpr std::uint64_t shown_recipients = 10, most_recipients = 1000; // in a list, of one message

// The page's messages; those before it are listed, too, and dropped one by one.
void show_page(Services& services, const std::shared_ptr<Call>& call, const OutboxPage& page, std::uint64_t total) {
    struct Listed {
        std::uint64_t seen = 0;
        json messages = json::array();
    };
    const auto listed = std::make_shared<Listed>();
    services.queue.ask(
        call->caller().principal,
        {{"op", proto::control::op::messages}, {"limit", page.first() + page.size}, {"recipients", shown_recipients}},
        [call, page, total, listed](const QueueClient::Answer& answer) {
            if (answer.failure) return call->respond(problem_of(*answer.failure));
            call->respond(json_response(200, {{"total", total},
                                              {"page", page.page},
                                              {"pageSize", page.size},
                                              {"pages", page.pages(total)},
                                              {"messages", std::move(listed->messages)}}));
        },
        [page, listed](const json& line) {
            if (listed->seen++ >= page.first()) listed->messages.push_back(outbox_message(line));
        });
}

void list_outbox(Services& services, const std::shared_ptr<Call>& call) {
    const auto page = outbox_page(call->request());
    if (!page) return call->respond(page.error());
    services.queue.ask(call->caller().principal, {{"op", proto::control::op::messages}, {"count", true}},
                       [&services, call, page = *page](const QueueClient::Answer& answer) {
                           if (answer.failure) return call->respond(problem_of(*answer.failure));
                           const auto counted = answer.lines.empty() ? json::object() : answer.lines.front();
                           show_page(services, call, page, counted.value("count", std::uint64_t{0}));
                       });
}

void show_queued(Services& services, const std::shared_ptr<Call>& call) {
    services.queue.ask(call->caller().principal,
                       {{"op", proto::control::op::message}, {"id", call->value(0)}, {"limit", most_recipients}},
                       [call](const QueueClient::Answer& answer) {
                           if (answer.failure) return call->respond(problem_of(*answer.failure));
                           if (answer.lines.empty())
                               return call->respond(Problem{404, "not-found", "There is no such message."});
                           call->respond(json_response(200, outbox_message(answer.lines.front())));
                       });
}

void delete_queued(Services& services, const std::shared_ptr<Call>& call) {
    json request = {{"op", proto::control::op::remove}, {"ids", {call->value(0)}}, {"reason", "deleted over HTTP"}};
    services.queue.ask(call->caller().principal, std::move(request), [call](const QueueClient::Answer& answer) {
        if (const auto problem = problem_of_removal(answer)) return call->respond(*problem);
        call->respond(json_response(200, {{"deleted", true}}));
    });
}

} // namespace

void add_outbox(Router& router, Services& services) {
    router.add({.method = "GET",
                .path = "/v1/outbox",
                .scope = Scope::read,
                .summary = "List queued messages as EmailEngine does",
                .parameters = {{"page", "Number of the page, from 0", Parameter::Kind::number},
                               {"pageSize", "Messages of a page: 20 by default, at most 250", Parameter::Kind::number}},
                .answer = schema::outbox,
                .statuses = {200, 400, 404, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { list_outbox(services, call); }});
    router.add({.method = "GET",
                .path = "/v1/outbox/{queueId}",
                .scope = Scope::read,
                .summary = "Show a queued message as EmailEngine does",
                .answer = schema::outbox_message,
                .statuses = {200, 400, 404, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { show_queued(services, call); }});
    router.add({.method = "DELETE",
                .path = "/v1/outbox/{queueId}",
                .scope = Scope::remove,
                .summary = "Remove a queued message",
                .answer = schema::outbox_deletion,
                .statuses = {200, 400, 404, 409, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { delete_queued(services, call); }});
}

} // namespace http
