#include "daemons/http/requests/problem.h"
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;

namespace {
constexpr unsigned unauthorized = 401;
}

std::string_view title_of(unsigned status) {
    switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    default: return "Error";
    }
}

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

web::Response response_to(const Problem& problem) { return response_to(problem, json::object()); }

web::Response response_to(const Problem& problem, const json& members) {
    json body = members;
    body["type"] = "about:blank";
    body["title"] = title_of(problem.status);
    body["status"] = problem.status;
    body["code"] = problem.code;
    body["detail"] = problem.detail;
    web::Response response{
        .status = problem.status, .type = "application/problem+json", .body = text_of(body) + "\n", .headers = {}};
    if (problem.retry_after > 0) response.headers.emplace_back("Retry-After", std::to_string(problem.retry_after));
    if (problem.status == unauthorized) response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"postrider\"");
    return response;
}

web::Response json_response(unsigned status, const json& body) {
    return {.status = status, .type = "application/json", .body = text_of(body) + "\n", .headers = {}};
}

} // namespace http
