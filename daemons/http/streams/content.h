// The content of queued and kept messages, streamed: as much as the client reads, and a piece more.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_content(Router& router, Services& services);

} // namespace http
