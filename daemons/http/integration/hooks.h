// Hooks: how far they are, and what an operator does with them; the events process answers.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_hooks(Router& router, Services& services);

} // namespace http
