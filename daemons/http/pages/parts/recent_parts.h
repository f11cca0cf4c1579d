// The last hour: what has changed, and how many messages came and went each minute. Pure.
#pragma once
#include "daemons/http/pages/parts/parts.h"
#include <nlohmann/json_fwd.hpp>

namespace http::pages {

html::Html traffic_of(const nlohmann::json& recent);
html::Html changes_of(const nlohmann::json& recent, smtp::WallTime now);

} // namespace http::pages
