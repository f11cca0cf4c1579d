// A row of numbers as a small drawing: SVG within the page, whose colours are the style sheet's. Pure.
#pragma once
#include "daemons/http/html/html.h"
#include <cstdint>
#include <span>
#include <string_view>

namespace http::pages {

// `label`: for those who do not see it. Nothing, if there are not two numbers.
html::Html sparkline(std::span<const std::int64_t> numbers, std::string_view label);

} // namespace http::pages
