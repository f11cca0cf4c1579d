#include "daemons/http/endpoints/transfers.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/http/requests/call.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/schemas.h"
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <sysexits.h>
#include <utility>

namespace http {

namespace {

using proto::relayed_submission::Cause;
using proto::relayed_submission::Outcome;

struct NodeMessage {
    std::string envelope, content;
};

// Four bytes with the length of the envelope, the envelope, the content. Nothing: it is not so.
std::optional<NodeMessage> read_node_message(std::string body) {
    constexpr std::size_t length_size = 4;
    if (body.size() < length_size) return {};
    std::size_t length = 0;
    for (std::size_t n = length_size; n-- > 0;) length = length << 8 | static_cast<unsigned char>(body[n]);
    if (length == 0 || length > body.size() - length_size) return {};
    NodeMessage out{.envelope = body.substr(length_size, length), .content = {}};
    body.erase(0, length_size + length);
    out.content = std::move(body);
    return out;
}

// "not-taken": the message is certainly not here by this request. The other node relies on it.
Problem problem_of_transfer(const Outcome& outcome) {
    switch (outcome.cause) {
    case Cause::key_reused: return {409, "transfer-reused", outcome.text};
    case Cause::key_busy: return {503, "busy", "This transfer is under way already.", 1};
    case Cause::in_doubt: return {503, "in-doubt", "The connection to pickup was lost: send the message again.", 1};
    case Cause::unavailable:
    case Cause::suppressed:
    case Cause::other: break;
    }
    if (outcome.status == EX_TEMPFAIL) return {503, "not-taken", outcome.text, 5};
    return {422, "invalid-message", outcome.text};
}

void take_transfer(Services& services, const std::shared_ptr<Call>& call) {
    auto read = read_node_message(std::move(call->request().body));
    if (!read)
        return call->respond(
            Problem{422, "invalid-message",
                    "Expected four bytes with the length of the envelope, the envelope and the content: "
                    "the nodes may be of different versions."});
    const auto& client = call->request().client;
    NewMessage message{.source = {.submitter = call->caller().submitter,
                                  .client = client.address ? client.address->to_string() : std::string(),
                                  .node = true},
                       .sender = {},
                       .recipients = {},
                       .requests = {},
                       .content = std::move(read->content),
                       .envelope = std::move(read->envelope)};
    services.submissions.submit(std::move(message), [call](const Outcome& outcome) {
        CRASH_POINT("http.transfer_taken");
        if (outcome.status != EX_OK) return call->respond(problem_of_transfer(outcome));
        call->respond(
            json_response(outcome.duplicate ? 200 : 202, {{"id", outcome.queue_id}, {"duplicate", outcome.duplicate}}));
    });
}

} // namespace

void add_transfers(Router& router, Services& services) {
    router.add({.method = "POST",
                .path = "/v1/transfer",
                .scope = tokens::Scope::node,
                .summary = "Take a message from another node",
                .accepts = {transfer_type},
                .body = {},
                .answer = schema::transfer_result,
                .statuses = {200, 202, 409, 413, 415, 422, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { take_transfer(services, call); }});
}

} // namespace http
