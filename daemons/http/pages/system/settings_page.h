// The settings in force with the line that each comes from, and certificates with their expiry. Changes nothing.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_settings(PageRoutes& routes);

} // namespace http::pages
