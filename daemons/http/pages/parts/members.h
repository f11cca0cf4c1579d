// Members of the API's objects, as pages read them: what is missing, null or of another type is empty. Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace http::pages {

inline const nlohmann::json& member(const nlohmann::json& object, std::string_view name) {
    static const nlohmann::json none;
    if (!object.is_object()) return none;
    const auto found = object.find(name);
    return found == object.end() ? none : *found;
}

inline std::string text_in(const nlohmann::json& object, std::string_view name) {
    const auto& value = member(object, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

inline std::int64_t number_in(const nlohmann::json& object, std::string_view name) {
    const auto& value = member(object, name);
    return value.is_number() ? value.get<std::int64_t>() : 0;
}

inline bool flag_in(const nlohmann::json& object, std::string_view name) {
    const auto& value = member(object, name);
    return value.is_boolean() && value.get<bool>();
}

} // namespace http::pages
