// Queued messages for clients of EmailEngine: its outbox, as far as it can be read and deleted from.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_outbox(Router& router, Services& services);

} // namespace http
