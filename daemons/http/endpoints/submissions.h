// Submission of messages: durable before it is answered.
#pragma once
#include "daemons/http/endpoints/services.h"
#include "daemons/http/requests/router.h"

namespace http {

void add_submissions(Router& router, Services& services);

} // namespace http
