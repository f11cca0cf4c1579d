// Errors as pages. Pure.
#pragma once
#include "daemons/http/requests/call.h"
#include "daemons/http/requests/problem.h"
#include <string_view>

namespace http::pages {

web::Response problem_response(unsigned status, std::string_view detail, const web::Request& request,
                               const Caller* caller = nullptr);
// Of a request for a page that is denied: without a session, to the login and back.
web::Response denial_response(const Problem& problem, const web::Request& request);
// Whether a person waits for the answer.
bool wants_page(const web::Request& request);

} // namespace http::pages
