// The suppression list: recipients that get no mail; entries are added and removed.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_suppressions(PageRoutes& routes);

} // namespace http::pages
