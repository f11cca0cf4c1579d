// Operations on queued mail, links and queues: of the messages that are named, that a filter selects, or that a dry run
// has selected.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_operations(Router& router, Services& services);

} // namespace http
