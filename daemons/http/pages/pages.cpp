#include "daemons/http/pages/pages.h"
#include "daemons/http/pages/events_page.h"
#include "daemons/http/pages/frame/assets.h"
#include "daemons/http/pages/frame/page_routes.h"
#include "daemons/http/pages/links_page.h"
#include "daemons/http/pages/login_page.h"
#include "daemons/http/pages/message_page.h"
#include "daemons/http/pages/messages_page.h"
#include "daemons/http/pages/now_page.h"
#include "daemons/http/pages/places_page.h"
#include "daemons/http/pages/suppressions_page.h"
#include "daemons/http/pages/system/hooks_page.h"
#include "daemons/http/pages/system/settings_page.h"
#include "daemons/http/pages/system/try_page.h"
#include "daemons/http/pages/traffic/door_page.h"
#include "daemons/http/pages/traffic/senders_page.h"

namespace http::pages {

void add_pages(Router& router, common::Loop& loop, Login& login) {
    add_assets(router);
    add_login(router, loop, login);
    PageRoutes routes(router);
    routes.get("/", tokens::Scope::read, show_now);
    add_messages(routes);
    add_message(routes);
    add_links(routes);
    add_places(routes);
    add_suppressions(routes);
    add_events(routes);
    add_senders(routes);
    add_door(routes);
    add_hooks(routes);
    add_try(routes, loop);
    add_settings(routes);
}

} // namespace http::pages
