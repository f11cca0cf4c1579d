// The pages for people: everything that the postmaster sees and does in a browser.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/http/browser/login.h"
#include "daemons/http/requests/router.h"

namespace http::pages {

// Added last: they use the routes of the API, which remain as they are.
void add_pages(Router& router, common::Loop& loop, Login& login);

} // namespace http::pages
