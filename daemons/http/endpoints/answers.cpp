#include "daemons/http/endpoints/answers.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/requests/media_type.h"
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
namespace code = proto::control::code;

Problem problem_of(const QueueClient::Failure& failure) {
    auto text = failure.text;
    if (failure.code == code::bad_request) return {400, "invalid-request", std::move(text)};
    if (failure.code == code::not_permitted) return {403, "not-permitted", std::move(text)};
    if (failure.code == code::unknown || failure.code == code::no_match) return {404, "not-found", std::move(text)};
    if (failure.code == code::already) return {409, "already", std::move(text)};
    if (failure.code == code::in_delivery) return {409, "in-delivery", std::move(text)};
    if (failure.code == code::loading) return {503, "loading", std::move(text), 5};
    if (failure.code == code::unavailable) return {503, "unavailable", std::move(text), 5};
    if (failure.code == "too-large") return {400, "answer-too-large", std::move(text)};
    return {500, "failed", std::move(text)};
}

std::optional<Problem> problem_of_removal(const QueueClient::Answer& answer) {
    if (answer.failure) return problem_of(*answer.failure);
    const auto counts = answer.lines.empty() ? json::object() : answer.lines.front();
    const auto count = [&](const char* name) { return counts.value(name, std::uint64_t{0}); };
    if (count("matched") == 0) return Problem{404, "not-found", "There is no such message."};
    if (count("in_flight") > 0)
        return Problem{409, "in-delivery",
                       "The message is being delivered: it may still arrive. What is not delivered by this attempt is "
                       "removed."};
    if (count("changed") == 0) return Problem{409, "already", "The message is being removed, or is gone."};
    return {};
}

bool wants_lines(const web::Request& request) { return names_type(request.header("accept"), lines_type); }

web::Response list_response(const web::Request& request, std::string_view name, std::vector<json> lines,
                            const std::string& next) {
    if (wants_lines(request)) {
        web::Response response{.status = 200, .type = std::string(lines_type), .body = {}, .headers = {}};
        for (const auto& line : lines) response.body += text_of(line) + "\n";
        return response;
    }
    json body = {{"next", next.empty() ? json() : json(next)}};
    body[std::string(name)] = std::move(lines);
    return json_response(200, body);
}

} // namespace http
