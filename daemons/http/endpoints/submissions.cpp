#include "daemons/http/endpoints/submissions.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/schemas.h"
#include "daemons/http/requests/submission.h"
#include <nlohmann/json.hpp>

namespace http {

namespace {

void submit(Services& services, const std::shared_ptr<Call>& call) {
    const auto& caller = call->caller();
    auto read = read_submission(call->request(), caller, {services.message_size, services.recipients});
    if (!read) return call->respond(read.error());
    auto request = std::make_shared<SubmissionRequest>(*std::move(read));
    if (request->recipients.empty()) {
        proto::relayed_submission::Outcome none;
        none.status = 1;
        none.cause = proto::relayed_submission::Cause::suppressed;
        auto response = response_to(none, *request);
        return call->respond(std::move(response));
    }
    const auto& client = call->request().client;
    NewMessage message{.source = {.submitter = caller.submitter,
                                  .client = client.address ? client.address->to_string() : std::string()},
                       .sender = request->sender,
                       .recipients = request->recipients,
                       .requests = request->fields,
                       .content = std::move(request->content)};
    services.submissions.submit(std::move(message), [call, request](const proto::relayed_submission::Outcome& outcome) {
        call->respond(response_to(outcome, *request));
    });
}

} // namespace

void add_submissions(Router& router, Services& services) {
    router.add({.method = "POST",
                .path = "/v1/messages",
                .scope = tokens::Scope::submit,
                .summary = "Submit a message",
                .parameters = {{"from", "Sender, for message/rfc822; empty: the null one"},
                               {"to", "Recipients, for message/rfc822, separated by commas; may be repeated",
                                Parameter::Kind::texts},
                               {"not_before", "Time of sending, or a span such as 2h"},
                               {"expires", "Time when delivery is given up, or a span"},
                               {"lane", "high, normal or bulk"},
                               {"policy", "Retry policy"},
                               {"pool", "Pool of source addresses"},
                               {"meta.NAME", "Value that events of the journal will have"}},
                .headers = {{"Idempotency-Key", "The same one makes one message, however often it is submitted"}},
                .accepts = {rfc822_type, json_type},
                .body = schema::submission,
                .answer = schema::submission_result,
                .statuses = {200, 202, 400, 403, 409, 413, 415, 422, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { submit(services, call); }});
}

} // namespace http
