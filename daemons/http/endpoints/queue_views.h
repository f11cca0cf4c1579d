// What the queue-manager shows: status, links, queues, pauses.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_queue_views(Router& router, Services& services);

} // namespace http
