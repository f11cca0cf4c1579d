// How the mail system is now: whether it accepts and delivers mail, what waits, and what is wrong.
#pragma once
#include "daemons/http/pages/frame/page.h"

namespace http::pages {

void show_now(const std::shared_ptr<Page>& page);

} // namespace http::pages
