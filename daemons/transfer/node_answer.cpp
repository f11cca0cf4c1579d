#include "daemons/transfer/node_answer.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace transfer {

using common::Https;
using proto::transfer::Result;
using proto::transfer::Sent;

namespace {

// The text of a member; "": there is none.
std::string member_of(const nlohmann::json& body, const char* name) {
    const auto found = body.is_object() ? body.find(name) : body.end();
    return found != body.end() && found->is_string() ? found->get<std::string>() : "";
}

// Of a problem. Statuses that the node or something before it may give at any moment say nothing of what it has, unless
// the node itself adds that it has not taken the message, or not even read it.
Result result_of(unsigned status, const std::string& code) {
    if (code == "not-taken" || code == "not-read") return Result::not_taken;
    if (status == 400 || status == 409 || status == 413 || status == 422) return Result::refused;
    if (status == 401 || status == 403 || status == 404 || status == 405 || status == 415 || status == 429)
        return Result::not_taken; // the node, or its token, is not set up yet
    return Result::unknown;
}

} // namespace

Sent meaning_of(const Https::Answer& answer, spool::QueueId queue_id, std::uint32_t generation) {
    Sent sent{.queue_id = queue_id, .generation = generation, .result = Result::unknown, .its_id = 0, .text = {}};
    if (answer.failure != Https::Failure::none) {
        if (!answer.sent) sent.result = Result::not_taken;
        sent.text = answer.failure == Https::Failure::timeout ? "no answer within the time limit" : answer.why;
    } else {
        const auto body = nlohmann::json::parse(answer.content, nullptr, false);
        if (answer.status == 200 || answer.status == 202) {
            const auto id = spool::QueueId::parse(member_of(body, "id"));
            if (id) {
                sent.result = Result::taken;
                sent.its_id = id->value;
                return sent;
            }
            sent.text = "its answer does not name the message";
        } else {
            sent.result = result_of(answer.status, member_of(body, "code"));
            const auto detail = member_of(body, "detail");
            sent.text = fmt::format("{}{}{}", answer.status, detail.empty() ? "" : ": ", detail);
        }
    }
    sent.text = smtp::printable(sent.text, proto::transfer::longest_text);
    return sent;
}

} // namespace transfer
