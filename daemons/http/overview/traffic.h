// Counts of the last hours or days, from the journal: mail by who sent it, and what was refused at the door.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_traffic(Router& router, Services& services);

} // namespace http
