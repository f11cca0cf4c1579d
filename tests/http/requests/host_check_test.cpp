#include "daemons/http/requests/host_check.h"
#include <doctest/doctest.h>

using namespace http;

TEST_CASE("the name in Host") {
    CHECK(name_in("API.example.org:9587") == "api.example.org");
    CHECK(name_in("api.example.org.") == "api.example.org");
    CHECK(name_in("[::1]:9587") == "::1");
    for (const auto* odd : {"", "a b", "user@host", "a/b", "[::1"}) CHECK(name_in(odd).empty());
}

TEST_CASE("a request for another name, or from another site, is rejected") {
    const HostNames names{{"api.example.org"}};
    const auto status = [&](const char* method, web::Fields headers) {
        web::Request request;
        request.method = method;
        request.headers = std::move(headers);
        const auto problem = check_origin(request, names);
        return problem ? problem->status : 200U;
    };
    CHECK(status("GET", {{"host", "localhost:1"}}) == 200);
    CHECK(status("GET", {{"host", "127.0.0.2"}}) == 200);
    CHECK(status("GET", {{"host", "[::1]"}}) == 200);
    CHECK(status("GET", {{"host", "API.example.org"}}) == 200);
    CHECK(status("GET", {}) == 400);
    CHECK(status("GET", {{"host", "evil.example"}}) == 421);
    CHECK(status("GET", {{"host", "192.0.2.1"}}) == 421);
    CHECK(status("POST", {{"host", "localhost"}}) == 200);
    CHECK(status("POST", {{"host", "localhost:1"}, {"origin", "http://localhost:1"}}) == 200);
    CHECK(status("POST", {{"host", "localhost:1"}, {"origin", "http://localhost:2"}}) == 403);
    CHECK(status("POST", {{"host", "localhost"}, {"origin", "null"}}) == 403);
    CHECK(status("DELETE", {{"host", "localhost"}, {"origin", "https://evil.example"}}) == 403);
    CHECK(status("POST", {{"host", "localhost"}, {"sec-fetch-site", "same-origin"}}) == 200);
    CHECK(status("POST", {{"host", "localhost"}, {"sec-fetch-site", "same-site"}}) == 403);
    CHECK(status("POST", {{"host", "localhost"}, {"sec-fetch-site", "none"}}) == 403);
}
