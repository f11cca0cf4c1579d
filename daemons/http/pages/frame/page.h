// One request for a page: who asks, what the API answers them, and the HTML that is returned. Kept until it is
// answered.
#pragma once
#include "daemons/http/html/html.h"
#include "daemons/http/pages/frame/api_client.h"
#include "daemons/http/pages/frame/layout.h"
#include "libsmtp/text/time_types.h"
#include <memory>
#include <string>

namespace http::pages {

class Page : public std::enable_shared_from_this<Page> {
public:
    Page(std::shared_ptr<Call> call, const Router& api) : call_(std::move(call)), api_(api) {}
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;

    const Call& call() const { return *call_; }
    std::string parameter(std::string_view name) const { return std::string(call_->parameter(name)); }
    bool may(tokens::Scope scope) const { return call_->caller().scopes.has(scope); }
    smtp::WallTime now() const;

    // An error of the API is the answer to the page's own request, too.
    void ask(ApiRequest request, std::function<void(nlohmann::json)> then);
    void ask_any(ApiRequest request, std::function<void(ApiAnswer)> then);
    // As ask(), for what takes a while: ends early if the browser goes. To be called before its handler returns.
    void ask_while_wanted(ApiRequest request, std::function<void(nlohmann::json)> then);
    // Lines that come over a while; ends early if the browser goes. To be called before its handler returns.
    GiveUp collect(ApiRequest request, std::function<void(ApiAnswer)> then);

    void show(View view);
    void fail(unsigned status, std::string_view detail);
    // To another page (303).
    void go(const html::Url& where);

    // A form that changes something: it has what shows that it is from a page of this session.
    html::Html form(const html::Url& action, const html::Html& content) const;

private:
    std::shared_ptr<Call> call_;
    const Router& api_;
};

using PageHandler = std::function<void(const std::shared_ptr<Page>&)>;

} // namespace http::pages
