// The files beside this one, as the build compiles them in (embed.cpp).
#pragma once
#include <string_view>

namespace http::pages {

extern const std::string_view page_css, page_js, icon_svg;

} // namespace http::pages
