#include "daemons/http/pages/login_page.h"
#include "daemons/common/web/target.h"
#include "daemons/http/backend/later.h"
#include "daemons/http/browser/cookie.h"
#include "daemons/http/pages/frame/layout.h"
#include "daemons/http/pages/frame/page_routes.h"
#include "daemons/http/pages/frame/problem_page.h"
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::empty_element;
using html::Html;
using html::Url;

namespace {

constexpr auto guess_pause = std::chrono::seconds(1);
constexpr std::size_t most_paused = 100; // further guesses are answered at once, without being compared

Html next_field(std::string_view next) {
    return next.empty() ? Html() : empty_element("input", {{"type", "hidden"}, {"name", "next"}, {"value", next}});
}

Html token_form(std::string_view next, std::string_view problem) {
    Html out;
    if (!problem.empty())
        out += element("p", {{"class", "problem"}, {"role", "alert"}, {"id", "login-problem"}}, problem);
    out += element("form", {{"method", "post"}, {"action", Url({"login"})}, {"class", "stacked"}}, next_field(next),
                   element("label", {{"for", "token"}}, "Token"),
                   empty_element("input", {{"type", "password"},
                                           {"id", "token"},
                                           {"name", "token"},
                                           {"autocomplete", "current-password"},
                                           {"required"},
                                           {"maxlength", "128"}}),
                   element("button", {{"type", "submit"}}, "Log in"));
    return out += element("p", {{"class", "note"}}, "On the server, ",
                          element("code", {}, "postrider token add NAME --scope read"), " makes a token.");
}

Html user_form(std::string_view next, std::string_view user) {
    return element("form", {{"method", "post"}, {"action", Url({"login"})}, {"class", "stacked"}}, next_field(next),
                   element("p", {}, fmt::format("You have come through the socket as {}, which needs no token.", user)),
                   element("button", {{"type", "submit"}}, fmt::format("Continue as {}", user)));
}

class LoginPage {
public:
    LoginPage(common::Loop& loop, Login& login) : login_(login), later_(loop) {}

    void show(const Call& call, unsigned status, std::string_view next, std::string_view problem) {
        Html content;
        if (const auto user = login_.user_of(call.request())) content += user_form(next, *user);
        content += token_form(next, problem);
        call.respond(response_with({.status = status, .title = "Log in", .content = std::move(content)}, call.request(),
                                   nullptr));
    }

    void log_in(const std::shared_ptr<Call>& call) {
        const auto form = Form::read(call->request().body);
        if (!form) return call->respond(problem_response(form.error().status, form.error().detail, call->request()));
        if (!is_from_a_page(call->request()))
            return call->respond(
                problem_response(403, "This form is not from a page of this server.", call->request()));
        const std::string next(form->text("next"));
        if (paused_ >= most_paused)
            return show(*call, 429, next, "Too many logins have failed just now. Try again in a few seconds.");
        const auto cookie = login_.log_in(call->request(), form->text("token"), common::Loop::now());
        if (!cookie) return deny(call, cookie.error(), next);
        const auto target = web::parse_target(next);
        auto response = redirect_to(target ? Url(target->segments, target->parameters) : Url({}));
        response.headers.emplace_back("Set-Cookie", cookie_field(*cookie, is_secure(call->request()), Login::lifetime));
        call->respond(std::move(response));
    }

    void log_out(const Call& call) {
        login_.log_out(call.request());
        auto response = redirect_to(Url({"login"}));
        for (const bool secure : {true, false})
            response.headers.emplace_back("Set-Cookie", forgotten_cookie_field(secure));
        call.respond(std::move(response));
    }

private:
    void deny(const std::shared_ptr<Call>& call, const Denial& denial, const std::string& next) {
        if (!denial.delayed) return show(*call, denial.problem.status, next, denial.problem.detail);
        ++paused_;
        later_.after(guess_pause, [this, call, next, problem = denial.problem] {
            --paused_;
            show(*call, problem.status, next, problem.detail);
        });
    }

    Login& login_;
    Later later_;
    std::size_t paused_ = 0;
};

} // namespace

void add_login(Router& router, common::Loop& loop, Login& login) {
    const auto page = std::make_shared<LoginPage>(loop, login);
    const auto add = [&](std::string_view method, std::string_view path, bool with_form, auto handle) {
        std::vector<std::string_view> accepts;
        if (with_form) accepts.push_back(form_type);
        router.add({.method = method,
                    .path = path,
                    .scope = {},
                    .summary = "The session of a browser",
                    .accepts = std::move(accepts),
                    .handle = [page, handle](const std::shared_ptr<Call>& call) { handle(*page, call); },
                    .page = true});
    };
    add("GET", "/login", false,
        [](LoginPage& here, const std::shared_ptr<Call>& call) { here.show(*call, 200, call->parameter("next"), {}); });
    add("POST", "/login", true, [](LoginPage& here, const std::shared_ptr<Call>& call) { here.log_in(call); });
    add("POST", "/logout", true, [](LoginPage& here, const std::shared_ptr<Call>& call) { here.log_out(*call); });
}

} // namespace http::pages
