#include "daemons/http/requests/router.h"
#include <doctest/doctest.h>

using namespace http;

TEST_CASE("a request finds its route, its variables, or the methods that there are") {
    Router router;
    router.add({.method = "GET", .path = "/v1/messages", .scope = {}, .summary = "list"});
    router.add({.method = "POST", .path = "/v1/messages", .scope = {}, .summary = "submit"});
    router.add({.method = "GET", .path = "/v1/messages/{id}/explain", .scope = {}, .summary = "explain"});
    const auto find = [&](const char* method, std::vector<std::string> segments) {
        web::Request request;
        request.method = method;
        request.segments = std::move(segments);
        return router.find(request);
    };
    CHECK(find("POST", {"v1", "messages"})->route->summary == "submit");
    CHECK(find("HEAD", {"v1", "messages"})->route->summary == "list");
    const auto one = find("GET", {"v1", "messages", "a/b", "explain"});
    REQUIRE(one);
    CHECK(one->values == std::vector<std::string>{"a/b"});
    CHECK(find("PUT", {"v1", "messages"}).error() == std::vector<std::string_view>{"GET", "POST"});
    CHECK(find("GET", {"v1"}).error().empty());
    CHECK(find("GET", {"v1", "messages", "x"}).error().empty());
    CHECK(find("GET", {"v1", "messages", "x", "explain", "y"}).error().empty());
    CHECK(find("GET", {}).error().empty());
}
