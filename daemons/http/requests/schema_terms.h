// The words that schemas are written in. Pure.
#pragma once
#include "daemons/http/requests/schemas.h"
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace http::terms {

using nlohmann::json;
using Properties = std::initializer_list<std::pair<const char*, json>>;

inline json of_type(const char* type) { return {{"type", type}}; }
inline json text() { return of_type("string"); }
inline json number() { return of_type("integer"); }
inline json decimal() { return of_type("number"); }
inline json flag() { return of_type("boolean"); }
inline json time() { return {{"type", {"string", "null"}}, {"format", "date-time"}}; } // null: there is none
inline json list(json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
inline json texts() { return list(text()); }
inline json named(const char* name) { return schema_reference(name); }
inline json values() { return {{"type", "object"}, {"additionalProperties", text()}}; }

inline json one_of(std::initializer_list<const char*> words) {
    auto out = text();
    for (const auto* word : words) out["enum"].push_back(word);
    return out;
}

inline json any_of(std::initializer_list<json> schemas) {
    json out;
    for (const auto& each : schemas) out["anyOf"].push_back(each);
    return out;
}

// `always` are there, or must be; `sometimes` may be missing.
inline json object(Properties always, Properties sometimes = {}) {
    json out = {{"type", "object"}, {"properties", json::object()}};
    for (const auto& [name, schema] : always) {
        out["properties"][name] = schema;
        out["required"].push_back(name);
    }
    for (const auto& [name, schema] : sometimes) out["properties"][name] = schema;
    return out;
}

inline json page(const char* name, json items) {
    return object({{name, list(std::move(items))}, {"next", {{"type", {"string", "null"}}}}});
}

inline json with(json base, const json& further) {
    base["properties"].update(further["properties"]);
    for (const auto& each : further.value("required", json::array())) base["required"].push_back(each);
    return base;
}

inline json described(json schema, const char* description) {
    schema["description"] = description;
    return schema;
}

inline void put(json& out, std::string_view name, json schema) { out[std::string(name)] = std::move(schema); }

} // namespace http::terms
