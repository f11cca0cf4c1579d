// Messages that other nodes move here: durable before they are answered, and one message each, however often they come.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_transfers(Router& router, Services& services);

} // namespace http
