// From answers of the queue-manager to responses: its errors, and lists as one object or as lines. Pure.
#pragma once
#include "daemons/http/backend/queue_client.h"
#include "daemons/http/requests/call.h"
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace http {

Problem problem_of(const QueueClient::Failure& failure);
// Of the answer to the removal of one message: why it was not removed. What is being delivered cannot be called back:
// it may still arrive.
std::optional<Problem> problem_of_removal(const QueueClient::Answer& answer);

// {"messages":[…],"next":"…"}; or, if the client prefers application/x-ndjson, a line for each.
web::Response list_response(const web::Request& request, std::string_view name, std::vector<nlohmann::json> lines,
                            const std::string& next = {});
bool wants_lines(const web::Request& request);

} // namespace http
