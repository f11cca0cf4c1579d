// The description of the API for programs, OpenAPI 3.1, from the table of routes and the schemas that they name. Pure.
#pragma once
#include "daemons/http/requests/router.h"
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace http {

nlohmann::json openapi(const std::vector<Route>& routes, std::string_view version);

} // namespace http
