// Links as rows of a table, and the names of their states. Pure.
#pragma once
#include "daemons/http/pages/parts/parts.h"
#include <nlohmann/json.hpp>
#include <span>

namespace http::pages {

Row link_row(const nlohmann::json& link);
// A table with these rows.
Table links_table(std::vector<Row> rows);
// Of a list of links.
Table links_table(const nlohmann::json& links);

} // namespace http::pages
