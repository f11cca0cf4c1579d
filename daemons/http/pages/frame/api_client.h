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
    bool whole = true; // of collected lines: they were not given up, nor too many to be kept

    bool good() const { return status < 300; }
    std::string detail() const; // of an error: what happened, and what to do
};

// `done` is called once, now or later.
void ask_api(const Router& router, const Call& from, ApiRequest request, std::function<void(ApiAnswer)> done);

// An answer that comes as lines over a while: `done` gets those that came as a list, at the end or when they are given
// up. To be called at most once, also after the end: gives up the request.
using GiveUp = std::function<void()>;
GiveUp collect_from_api(const Router& router, const Call& from, ApiRequest request,
                        std::function<void(ApiAnswer)> done);

} // namespace http::pages
