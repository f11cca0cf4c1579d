// Who sent how much over a time, and how much of it failed: by submitter, pool and lane, and why.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_senders(PageRoutes& routes);

} // namespace http::pages
