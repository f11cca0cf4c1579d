// Queued messages: lists, one of them, why it waits, removal.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_messages(Router& router, Services& services);

} // namespace http
