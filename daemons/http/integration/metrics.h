// The metrics for Prometheus, as the metrics process makes them; for those who scrape with a token.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_metrics(Router& router, Services& services);

} // namespace http
