// Probes for load balancers and orchestrators, without a token: whether the service works, and whether it accepts mail.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_health(Router& router, Services& services);

} // namespace http
