#include "daemons/http/pages/frame/problem_page.h"
#include "daemons/http/pages/frame/layout.h"
#include "daemons/http/requests/media_type.h"
#include <fmt/format.h>

namespace http::pages {

namespace {
constexpr unsigned not_logged_in = 401;
}

web::Response problem_response(unsigned status, std::string_view detail, const web::Request& request,
                               const Caller* caller) {
    const View view{.status = status,
                    .title = std::string(title_of(status)),
                    .content = html::element("p", {{"class", "problem"}, {"role", "alert"}}, detail)};
    return response_with(view, request, caller);
}

web::Response denial_response(const Problem& problem, const web::Request& request) {
    if (problem.status == not_logged_in) {
        html::Url::Parameters back;
        if (request.method == "GET" && !request.segments.empty())
            back.emplace_back("next", html::Url(request.segments, request.parameters).text());
        return redirect_to(html::Url({"login"}, back));
    }
    auto response = problem_response(problem.status, problem.detail, request);
    if (problem.retry_after > 0) response.headers.emplace_back("Retry-After", std::to_string(problem.retry_after));
    return response;
}

bool wants_page(const web::Request& request) {
    const bool of_api = !request.segments.empty() && request.segments.front() == "v1";
    return !of_api && names_type(request.header("accept"), "text/html");
}

} // namespace http::pages
