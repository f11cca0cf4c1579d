// How a delivery to an address would go, as far as RCPT: what it stands for, the rule that decides its route, and each
// step with the servers. The page comes when the trial has ended, or with what has come of it by then.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_try(PageRoutes& routes, common::Loop& loop);

} // namespace http::pages
