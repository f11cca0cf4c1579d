#include "daemons/http/lists/cursor.h"
#include "libsmtp/text/base64.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;

std::string cursor_of(const std::vector<std::string>& place) {
    auto text = smtp::encode_base64(json(place).dump(-1, ' ', false, json::error_handler_t::replace));
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    text.erase(std::ranges::find(text, '='), text.end());
    return text;
}

std::optional<std::vector<std::string>> read_cursor(std::string_view cursor, std::size_t texts) {
    if (cursor.size() > longest_cursor) return {};
    std::string text(cursor);
    std::ranges::replace(text, '-', '+');
    std::ranges::replace(text, '_', '/');
    text.append((4 - text.size() % 4) % 4, '=');
    const auto decoded = smtp::decode_base64(text);
    if (!decoded) return {};
    const auto place = json::parse(*decoded, nullptr, false);
    if (!place.is_array() || place.size() != texts) return {};
    if (!std::ranges::all_of(place, [](const json& each) { return each.is_string(); })) return {};
    return place.get<std::vector<std::string>>();
}

} // namespace http
