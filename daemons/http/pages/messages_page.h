// Messages that one search finds in the queue and in the history, and operations on all of those in the queue: first a
// preview, then why, then the operation, on exactly those that the preview had.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_messages(PageRoutes& routes);

} // namespace http::pages
