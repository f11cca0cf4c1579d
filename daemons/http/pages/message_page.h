// One message: its envelope, what each recipient waits for, what has happened to it, and operations on it, each after a
// question.
#pragma once
#include "daemons/http/pages/frame/page_routes.h"

namespace http::pages {

void add_message(PageRoutes& routes);

} // namespace http::pages
