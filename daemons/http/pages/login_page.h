// Where a browser gets its session, with a token or as a user on the socket, and where it ends it.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/http/browser/login.h"
#include "daemons/http/requests/router.h"

namespace http::pages {

void add_login(Router& router, common::Loop& loop, Login& login);

} // namespace http::pages
