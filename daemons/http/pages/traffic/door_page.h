// What was refused at the door over a time: by rule, network, limit and filter.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_door(PageRoutes& routes);

} // namespace http::pages
