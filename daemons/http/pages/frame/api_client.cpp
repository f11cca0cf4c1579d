#include "daemons/http/pages/frame/api_client.h"
#include <utility>

namespace http::pages {

using nlohmann::json;

namespace {

struct Waiting {
    std::weak_ptr<web::Exchange> exchange;
    std::function<void(ApiAnswer)> done;
    bool whole = true;
};

ApiAnswer answer_in(const web::Response& response) {
    auto body = json::parse(response.body, nullptr, false);
    return {response.status, body.is_discarded() ? json::object() : std::move(body)};
}

// The last line may have been cut.
json lines_in(std::string_view text) {
    auto out = json::array();
    for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
        if (auto line = json::parse(text.substr(0, end), nullptr, false); line.is_object())
            out.push_back(std::move(line));
        text.remove_prefix(end + 1);
    }
    return out;
}

// With what has come until now.
void finish(Waiting& waiting, web::Exchange& exchange) {
    const auto ready = std::exchange(waiting.done, nullptr);
    if (!ready) return;
    const auto& response = exchange.response();
    if (exchange.streams() || !waiting.whole)
        ready({response.status, lines_in(response.body), waiting.whole});
    else
        ready(answer_in(response));
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

GiveUp collect_from_api(const Router& router, const Call& from, ApiRequest request,
                        std::function<void(ApiAnswer)> done) {
    auto inner = inner_request(from, std::move(request));
    const auto match = router.find(inner);
    const auto refuse = [&done](const Problem& problem) -> GiveUp {
        done(answer_in(response_to(problem)));
        return [] {};
    };
    if (!match) return refuse({404, "not-found", "The API has no such path."});
    if (const auto refused = match->route->refuses(from.caller().scopes)) return refuse(*refused);
    const auto waiting = std::make_shared<Waiting>();
    waiting->done = std::move(done);
    const auto take = [waiting] {
        if (const auto exchange = waiting->exchange.lock(); exchange && exchange->ended()) finish(*waiting, *exchange);
    };
    const auto exchange = std::make_shared<web::Exchange>(
        std::move(inner), web::Exchange::Wakers{.answered = take, .cut = [waiting] { waiting->whole = false; }});
    waiting->exchange = exchange;
    match->route->handle(std::make_shared<Call>(exchange, match->values, from.caller()));
    return [waiting] {
        const auto still = waiting->exchange.lock();
        if (!still || !waiting->done) return;
        waiting->whole = false;
        still->leave(false);
        finish(*waiting, *still);
    };
}

void ask_api(const Router& router, const Call& from, ApiRequest request, std::function<void(ApiAnswer)> done) {
    collect_from_api(router, from, std::move(request), std::move(done));
}

} // namespace http::pages
