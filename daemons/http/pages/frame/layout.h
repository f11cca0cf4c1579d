// The frame of every page: head, navigation, main part and footer; and the header fields of its response. Pure.
#pragma once
#include "daemons/http/html/html.h"
#include "daemons/http/requests/call.h"
#include <string>
#include <string_view>

namespace http::pages {

inline constexpr std::string_view form_token_field = "form";

struct View {
    unsigned status = 200;
    std::string title;             // "Messages": heading and title
    std::string_view section = {}; // of the navigation: "messages"; empty: none
    html::Html content = {};
    std::string twin = {}; // the request to the API that has the same: "GET /v1/messages"; empty: none
    bool live = false;     // its numbers are kept up to date by the script
};

// `caller`: nothing: not logged in.
web::Response response_with(const View& view, const web::Request& request, const Caller* caller);
web::Response redirect_to(const html::Url& where);

} // namespace http::pages
