// The latest events of the journal; with the script, further ones as they come.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_events(PageRoutes& routes);

} // namespace http::pages
