// Pauses and retries of places: of everything, a link, a queue or a pool. Asks before it does something.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_places(PageRoutes& routes);

} // namespace http::pages
