// The effective limits of a link, each with the line of the configuration that it comes from. Pure.
#pragma once
#include "daemons/http/pages/parts/parts.h"
#include <nlohmann/json_fwd.hpp>

namespace http::pages {

// `settings`: the API's answer.
html::Html limits_of_link(const nlohmann::json& link, const nlohmann::json& settings);

} // namespace http::pages
