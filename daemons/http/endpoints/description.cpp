#include "daemons/http/endpoints/description.h"
#include "daemons/http/requests/call.h"
#include "daemons/http/requests/openapi.h"
#include "daemons/http/requests/schemas.h"
#include <nlohmann/json.hpp>

namespace http {

void add_description(Router& router) {
    router.add({.method = "GET",
                .path = "/openapi.json",
                .scope = {},
                .summary = "Describe the API, as OpenAPI 3.1",
                .answer = schema::description,
                .statuses = {200},
                .handle = [&router](const std::shared_ptr<Call>& call) {
                    call->respond(json_response(200, openapi(router.routes(), POSTRIDER_VERSION)));
                }});
}

} // namespace http
