// The time that a page counts over, as its reader chooses it, and how far the count has come. Pure.
#pragma once
#include "daemons/http/pages/parts/parts.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace http::pages {

struct Period {
    std::string_view since, title; // "1h", "Last hour"
};

// The one that is asked for, or the default.
const Period& period_named(std::string_view since);
// Links to the page at `path` for each period.
html::Html period_choice(std::string_view path, const Period& chosen);

// Seconds that are spent on the count: those of a first look, or of a patient one.
std::string_view counting_time(bool patient);
// If the count did not come to its end: how far it has come, and a link to a longer one.
html::Html count_notice(std::string_view path, const Period& chosen, const nlohmann::json& counted, bool patient);

} // namespace http::pages
