// The API as pages use it: each of their questions and orders is a request to a route of the API, on behalf of the
// page's own caller, answered in this process. Pages so have no rights and no data beyond the API's.
#pragma once
#include "daemons/http/requests/call.h"
#include "daemons/http/requests/router.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace http::pages {

struct ApiRequest {
    std::string_view method;           // "GET"
    std::vector<std::string> segments; // {"v1", "messages", id}
    web::Fields parameters = {};
    nlohmann::json body = {};
};

struct ApiAnswer {
    unsigned status = 0;
    nlohmann::json body;

    bool good() const { return status < 300; }
    std::string detail() const; // of an error: what happened, and what to do
};

// `done` is called once, now or later.
void ask_api(const Router& router, const Call& from, ApiRequest request, std::function<void(ApiAnswer)> done);

} // namespace http::pages
