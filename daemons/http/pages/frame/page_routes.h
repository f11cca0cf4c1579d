// Adds pages to the router: those that show something, and those that forms are sent to, whose session and origin are
// checked.
#pragma once
#include "daemons/http/browser/form.h"
#include "daemons/http/pages/frame/page.h"
#include "daemons/http/requests/router.h"
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace http::pages {

using FormHandler = std::function<void(const std::shared_ptr<Page>&, const Form&)>;

// Whether a browser says that one of our own pages sent this. What it says has been checked (host_check.h).
bool is_from_a_page(const web::Request& request);

class PageRoutes {
public:
    explicit PageRoutes(Router& router) : router_(router) {}

    void get(std::string_view path, tokens::Scope scope, PageHandler show);
    // `or_scope` instead.
    void post(std::string_view path, tokens::Scope scope, std::optional<tokens::Scope> or_scope, FormHandler carry_out);

private:
    Router& router_;
};

} // namespace http::pages
