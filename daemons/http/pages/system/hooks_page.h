// Hooks: how far each is and what its receiver answers; tests, pauses, replays and skips, each after a question.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_hooks(PageRoutes& routes);

} // namespace http::pages
