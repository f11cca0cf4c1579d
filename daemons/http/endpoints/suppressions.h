// The suppression list: entries, the one that covers a recipient, changes.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_suppressions(Router& router, Services& services);

} // namespace http
