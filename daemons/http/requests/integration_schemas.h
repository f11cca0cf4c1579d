// The schemas of answers for other software: hooks and EmailEngine's outbox. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace http {

void add_integration_schemas(nlohmann::json& schemas);

} // namespace http
