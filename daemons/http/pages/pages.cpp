#include "daemons/http/pages/pages.h"
#include "daemons/http/pages/assets.h"
#include "daemons/http/pages/login_page.h"
#include "daemons/http/pages/now_page.h"
#include "daemons/http/pages/page_routes.h"

namespace http::pages {

void add_pages(Router& router, common::Loop& loop, Login& login) {
    using tokens::Scope;
    add_assets(router);
    add_login(router, loop, login);
    PageRoutes routes(router);
    routes.get("/", Scope::read, show_now);
}

} // namespace http::pages
