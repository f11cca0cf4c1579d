// Times in answers of the control socket, which are seconds since 1970 there, as RFC 3339; null where there is none.
// Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace http {

void show_times(nlohmann::json& value);

} // namespace http
