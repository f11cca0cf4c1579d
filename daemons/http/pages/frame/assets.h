// Style sheet, script and icon: files of pages/assets, compiled in. Their addresses change with their content, so that
// browsers may keep them.
#pragma once
#include "daemons/http/html/url.h"
#include "daemons/http/requests/router.h"
#include <string_view>

namespace http::pages {

html::Url url_of(std::string_view asset);
void add_assets(Router& router);

} // namespace http::pages
