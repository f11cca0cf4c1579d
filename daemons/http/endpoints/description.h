// The description of the API for programs, of all routes that `router` has when it is asked for.
#pragma once
#include "daemons/http/requests/router.h"

namespace http {

void add_description(Router& router);

} // namespace http
