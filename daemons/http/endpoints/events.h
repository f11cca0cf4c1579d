// Events of the journal as they come to stable storage, as lines of JSON or as server-sent events.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_events(Router& router, Services& services);

} // namespace http
