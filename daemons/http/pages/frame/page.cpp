#include "daemons/http/pages/frame/page.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/http/pages/frame/problem_page.h"

namespace http::pages {

smtp::WallTime Page::now() const { return common::Loop::now().wall; }

void Page::ask(ApiRequest request, std::function<void(nlohmann::json)> then) {
    ask_any(std::move(request), [self = shared_from_this(), then = std::move(then)](ApiAnswer answer) {
        if (!answer.good()) return self->fail(answer.status, answer.detail());
        then(std::move(answer.body));
    });
}

void Page::ask_any(ApiRequest request, std::function<void(ApiAnswer)> then) {
    ask_api(api_, *call_, std::move(request), std::move(then));
}

void Page::ask_while_wanted(ApiRequest request, std::function<void(nlohmann::json)> then) {
    collect(std::move(request), [self = shared_from_this(), then = std::move(then)](ApiAnswer answer) {
        if (!answer.good()) return self->fail(answer.status, answer.detail());
        then(std::move(answer.body));
    });
}

GiveUp Page::collect(ApiRequest request, std::function<void(ApiAnswer)> then) {
    auto give_up = collect_from_api(api_, *call_, std::move(request), std::move(then));
    call_->shared_exchange()->on_gone(give_up);
    return give_up;
}

void Page::show(View view) { call_->respond(response_with(view, call_->request(), &call_->caller())); }

void Page::fail(unsigned status, std::string_view detail) {
    call_->respond(problem_response(status, detail, call_->request(), &call_->caller()));
}

void Page::go(const html::Url& where) { call_->respond(redirect_to(where)); }

html::Html Page::form(const html::Url& action, const html::Html& content) const {
    return html::element(
        "form", {{"method", "post"}, {"action", action}},
        html::empty_element("input",
                            {{"type", "hidden"}, {"name", form_token_field}, {"value", call_->caller().form_token}}),
        content);
}

} // namespace http::pages
