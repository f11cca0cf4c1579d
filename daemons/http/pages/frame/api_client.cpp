#include "daemons/http/pages/frame/api_client.h"
#include <utility>

namespace http::pages {

using nlohmann::json;

namespace {

struct Waiting {
    std::weak_ptr<web::Exchange> exchange;
    std::function<void(ApiAnswer)> done;
};

ApiAnswer answer_in(const web::Response& response) {
    auto body = json::parse(response.body, nullptr, false);
    return {response.status, body.is_discarded() ? json::object() : std::move(body)};
}

web::Request inner_request(const Call& from, ApiRequest request) {
    web::Request out;
    out.method = request.method;
    for (const auto& each : request.segments) out.path += "/" + each;
    out.segments = std::move(request.segments);
    out.parameters = std::move(request.parameters);
    out.client = from.request().client;
    if (!request.body.is_null()) {
        out.headers.emplace_back("content-type", json_type);
        out.body = text_of(request.body);
    }
    return out;
}

} // namespace

std::string ApiAnswer::detail() const {
    const auto found = body.find("detail");
    return found != body.end() && found->is_string() ? found->get<std::string>() : "The request has failed.";
}

void ask_api(const Router& router, const Call& from, ApiRequest request, std::function<void(ApiAnswer)> done) {
    auto inner = inner_request(from, std::move(request));
    const auto match = router.find(inner);
    if (!match) return done(answer_in(response_to(Problem{404, "not-found", "The API has no such path."})));
    if (const auto refused = match->route->refuses(from.caller().scopes)) return done(answer_in(response_to(*refused)));
    const auto waiting = std::make_shared<Waiting>();
    waiting->done = std::move(done);
    const auto take = [waiting] {
        if (const auto exchange = waiting->exchange.lock())
            if (const auto ready = std::exchange(waiting->done, nullptr)) ready(answer_in(exchange->response()));
    };
    const auto exchange =
        std::make_shared<web::Exchange>(std::move(inner), web::Exchange::Wakers{.answered = take, .cut = {}});
    waiting->exchange = exchange;
    match->route->handle(std::make_shared<Call>(exchange, match->values, from.caller()));
}

} // namespace http::pages
