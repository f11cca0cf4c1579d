#include "daemons/http/requests/openapi.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/problem.h"
#include "daemons/http/requests/schemas.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace http {

using nlohmann::json;

namespace {

constexpr std::string_view bearer = "bearer", text_type = "text/plain";

// "getMessagesIdExplain"
std::string operation_id(const Route& route) {
    auto out = smtp::lowered(route.method);
    bool begins_word = true;
    for (const char c : route.path.substr(route.path.starts_with("/v1/") ? 3 : 0)) {
        if (c == '/' || c == '{' || c == '}' || c == '.') begins_word = true;
        if (!smtp::is_letter(c)) continue;
        out += begins_word ? static_cast<char>(smtp::lower(c) - 'a' + 'A') : c;
        begins_word = false;
    }
    return out;
}

json schema_of(Parameter::Kind kind) {
    switch (kind) {
    case Parameter::Kind::text: return {{"type", "string"}};
    case Parameter::Kind::texts: return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case Parameter::Kind::number: return {{"type", "integer"}};
    case Parameter::Kind::flag: return {{"type", "boolean"}};
    }
    return {};
}

json parameter(std::string_view place, const Parameter& from) {
    return {{"name", from.name}, {"in", place}, {"description", from.meaning}, {"schema", schema_of(from.kind)}};
}

json parameters_of(const Route& route) {
    auto out = json::array();
    for (auto rest = route.path; rest.find('{') != rest.npos;) {
        rest.remove_prefix(rest.find('{') + 1);
        const auto name = rest.substr(0, rest.find('}'));
        out.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
    }
    for (const auto& each : route.parameters) out.push_back(parameter("query", each));
    for (const auto& each : route.headers) out.push_back(parameter("header", each));
    return out;
}

// Bodies of JSON have a schema; of other types, their type says what they are.
json content(const std::vector<std::string_view>& types, std::string_view schema) {
    json out;
    for (const auto type : types)
        out[std::string(type)] = type == json_type ? json{{"schema", schema_reference(schema)}} : json::object();
    return out;
}

json problem_content() { return {{"application/problem+json", {{"schema", schema_reference(schema::problem)}}}}; }

std::set<unsigned> statuses_of(const Route& route) {
    std::set<unsigned> out(route.statuses.begin(), route.statuses.end());
    out.insert({400, 421, 503});
    if (route.scope) out.insert({401, 403, 429});
    if (!route.accepts.empty()) out.insert({413, 415});
    return out;
}

json responses_of(const Route& route) {
    json out;
    const bool is_text = std::ranges::find(route.answer_types, text_type) != route.answer_types.end();
    for (const auto status : statuses_of(route)) {
        const bool good = status < 300;
        json response = {{"description", title_of(status)}, {"content", problem_content()}};
        if (good) response["content"] = content(route.answer_types, route.answer);
        if (is_text && !good && std::ranges::find(route.statuses, status) != route.statuses.end())
            response["content"][std::string(text_type)] = json::object();
        out[std::to_string(status)] = std::move(response);
    }
    return out;
}

json operation(const Route& route) {
    json out = {{"operationId", operation_id(route)}, {"summary", route.summary}, {"responses", responses_of(route)}};
    if (auto parameters = parameters_of(route); !parameters.empty()) out["parameters"] = std::move(parameters);
    if (!route.accepts.empty())
        out["requestBody"] = {{"required", true}, {"content", content(route.accepts, route.body)}};
    out["security"] = json::array();
    for (const auto& scope : {route.scope, route.or_scope})
        if (scope) out["security"].push_back({{bearer, json::array({tokens::name_of(*scope)})}});
    return out;
}

} // namespace

json openapi(const std::vector<Route>& routes, std::string_view version) {
    json paths;
    for (const auto& route : routes)
        if (!route.page) paths[std::string(route.path)][smtp::lowered(route.method)] = operation(route);
    return {{"openapi", "3.1.0"},
            {"info",
             {{"title", "Postrider"},
              {"version", version},
              {"summary", "Submission of mail, and what becomes of it"},
              {"description", "See postrider-http(8). Times are as in RFC 3339. Objects may get further members."}}},
            {"servers", json::array({{{"url", "/"}}})},
            {"paths", std::move(paths)},
            {"components",
             {{"schemas", schemas()},
              {"securitySchemes",
               {{bearer,
                 {{"type", "http"},
                  {"scheme", "bearer"},
                  {"description", "A token that \"postrider token add\" makes, with the scope that is named."}}}}}}}};
}

} // namespace http
