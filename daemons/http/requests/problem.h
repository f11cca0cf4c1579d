// Errors of the API as RFC 9457 describes them: what happened, and what to do. Pure.
#pragma once
#include "daemons/common/web/message.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace http {

struct Problem {
    unsigned status;
    std::string_view code;    // one word for programs: "unknown-token"
    std::string detail;       // what happened, and what to do: a sentence or two
    unsigned retry_after = 0; // seconds; 0: not given
};

web::Response response_to(const Problem& problem);
// With further members.
web::Response response_to(const Problem& problem, const nlohmann::json& members);
// "Not Found"
std::string_view title_of(unsigned status);

web::Response json_response(unsigned status, const nlohmann::json& body);
// What is not valid UTF-8 is replaced.
std::string text_of(const nlohmann::json& value);

} // namespace http
