// How a delivery to an address would go, as far as RCPT: each step as it is made.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_try(Router& router, Services& services);

} // namespace http
