// All links, and one link with its queues.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_links(PageRoutes& routes);

} // namespace http::pages
