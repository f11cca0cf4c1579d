#include "daemons/http/requests/openapi.h"
#include "daemons/http/requests/schemas.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace http;
using nlohmann::json;
using tokens::Scope;

namespace {

std::vector<Route> routes() {
    return {{.method = "GET",
             .path = "/v1/things/{name}/parts/{part}",
             .scope = Scope::read,
             .summary = "Show a part",
             .parameters = {{"limit", "How many", Parameter::Kind::number}, {"word", "", Parameter::Kind::texts}},
             .answer = schema::messages,
             .answer_types = {json_type, lines_type},
             .statuses = {200, 404}},
            {.method = "POST",
             .path = "/v1/things",
             .scope = Scope::operate,
             .or_scope = Scope::remove,
             .summary = "Make",
             .headers = {{"Idempotency-Key", ""}},
             .accepts = {rfc822_type, json_type},
             .body = schema::submission,
             .answer = schema::submission_result,
             .statuses = {202, 409}},
            {.method = "GET",
             .path = "/alive",
             .scope = {},
             .summary = "Probe",
             .answer_types = {"text/plain"},
             .statuses = {200, 503}}};
}

void collect(const json& value, std::set<std::string>& into) {
    if (value.is_object() && value.contains("$ref")) into.insert(value["$ref"].get<std::string>());
    if (value.is_structured())
        for (const auto& each : value) collect(each, into);
}

std::set<std::string> keys(const json& object) {
    std::set<std::string> out;
    for (const auto& [key, value] : object.items()) out.insert(key);
    return out;
}

} // namespace

TEST_CASE("every route is an operation: variables, parameters, scopes, bodies and answers") {
    const auto document = openapi(routes(), "1.2.3");
    CHECK(document["openapi"] == "3.1.0");
    CHECK(document["info"]["version"] == "1.2.3");
    CHECK(document["servers"] == json::parse(R"([{"url":"/"}])"));
    CHECK(keys(document["paths"]) == std::set<std::string>{"/v1/things/{name}/parts/{part}", "/v1/things", "/alive"});
    const auto& show = document["paths"]["/v1/things/{name}/parts/{part}"]["get"];
    CHECK(show["operationId"] == "getThingsNamePartsPart");
    CHECK(show["security"] == json::parse(R"([{"bearer":["read"]}])"));
    REQUIRE(show["parameters"].size() == 4);
    CHECK(show["parameters"][1] ==
          json::parse(R"({"name":"part","in":"path","required":true,"schema":{"type":"string"}})"));
    CHECK(show["parameters"][2]["schema"]["type"] == "integer");
    CHECK(show["parameters"][3]["schema"] == json::parse(R"({"type":"array","items":{"type":"string"}})"));
    CHECK(keys(show["responses"]) == std::set<std::string>{"200", "400", "401", "403", "404", "421", "429", "503"});
    CHECK(keys(show["responses"]["200"]["content"]) ==
          std::set<std::string>{"application/json", "application/x-ndjson"});
    CHECK(keys(show["responses"]["404"]["content"]) == std::set<std::string>{"application/problem+json"});
    const auto& make = document["paths"]["/v1/things"]["post"];
    CHECK(make["security"] == json::parse(R"([{"bearer":["operate"]},{"bearer":["remove"]}])"));
    CHECK(make["parameters"][0]["in"] == "header");
    CHECK(make["requestBody"]["content"] ==
          json::parse(
              R"({"message/rfc822":{},"application/json":{"schema":{"$ref":"#/components/schemas/Submission"}}})"));
    CHECK(make["responses"].contains("413"));
    const auto& probe = document["paths"]["/alive"]["get"];
    CHECK(probe["security"] == json::array());
    CHECK(probe["responses"]["200"]["content"] == json::parse(R"({"text/plain":{}})"));
    CHECK(probe["responses"]["503"]["content"].contains("text/plain"));
    CHECK_FALSE(probe["responses"].contains("401"));
}

TEST_CASE("what schemas refer to is there, and required members are described") {
    const auto all = schemas();
    std::set<std::string> references;
    collect(all, references);
    collect(openapi(routes(), "1"), references);
    for (const auto& each : references) {
        CAPTURE(each);
        const std::string_view prefix = "#/components/schemas/";
        REQUIRE(each.starts_with(prefix));
        CHECK(all.contains(each.substr(prefix.size())));
    }
    for (const auto& [name, schema] : all.items()) {
        CAPTURE(name);
        for (const auto& member : schema.value("required", json::array()))
            CHECK(schema["properties"].contains(member.get<std::string>()));
    }
}
