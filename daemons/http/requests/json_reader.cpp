#include "daemons/http/requests/json_reader.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace http {

using nlohmann::json;

namespace {

constexpr unsigned not_understood = 400, content_too_large = 413;

Problem not_valid(std::string detail) { return {not_understood, "invalid-json", std::move(detail)}; }

} // namespace

std::expected<json, Problem> read_json(std::string_view text, const std::set<std::string_view>& content) {
    bool too_deep = false, odd_text = false;
    std::size_t values = 0;
    const auto see = [&](int depth, json::parse_event_t event, json& value) {
        const bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
        too_deep = too_deep || (opens && depth >= deepest);
        const bool is_text = event == json::parse_event_t::key || event == json::parse_event_t::value;
        if (is_text && value.is_string())
            odd_text = odd_text || value.get_ref<const std::string&>().find('\0') != std::string::npos;
        if (opens || event == json::parse_event_t::value) ++values;
        return !too_deep && values <= most_values; // nothing further of it is kept
    };
    auto read = json::parse(text.begin(), text.end(), see, false);
    if (values > most_values)
        return std::unexpected(
            Problem{content_too_large, "too-large", fmt::format("The body has more than {} values.", most_values)});
    if (too_deep) return std::unexpected(not_valid(fmt::format("The body is nested deeper than {} levels.", deepest)));
    if (read.is_discarded()) return std::unexpected(not_valid("The body is not valid JSON."));
    if (!read.is_object()) return std::unexpected(not_valid("The body must be a JSON object."));
    if (odd_text) return std::unexpected(not_valid("A text has a character U+0000."));
    std::size_t beside = 0;
    for (const auto& [name, value] : read.items())
        if (!content.contains(name)) beside += name.size() + text_of(value).size();
    if (beside > largest_beside_content)
        return std::unexpected(Problem{
            content_too_large, "too-large",
            fmt::format("The body has more than {} bytes beside the content of the message.", largest_beside_content)});
    return read;
}

const json* Members::take(std::string_view name) {
    taken_.emplace(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Members::wrong(std::string_view name, std::string_view expected) {
    if (problem_.empty()) problem_ = fmt::format("\"{}\": expected {}.", smtp::printable(name, 64), expected);
}

std::string Members::text(std::string_view name) {
    const auto* value = take(name);
    if (!value) return {};
    if (value->is_string()) return value->get<std::string>();
    wrong(name, "a text");
    return {};
}

bool Members::flag(std::string_view name) {
    const auto* value = take(name);
    if (!value) return false;
    if (value->is_boolean()) return value->get<bool>();
    wrong(name, "true or false");
    return false;
}

std::uint64_t Members::number(std::string_view name, std::uint64_t most) {
    const auto* value = take(name);
    if (!value) return 0;
    if (value->is_number_unsigned() && value->get<std::uint64_t>() <= most) return value->get<std::uint64_t>();
    wrong(name, fmt::format("a number from 0 to {}", most));
    return 0;
}

std::vector<std::string> Members::texts(std::string_view name, std::size_t most) {
    const auto* value = take(name);
    if (!value) return {};
    if (value->is_string()) return {value->get<std::string>()};
    std::vector<std::string> out;
    bool good = value->is_array() && value->size() <= most;
    if (good)
        for (const auto& each : *value) {
            good = good && each.is_string();
            if (good) out.push_back(each.get<std::string>());
        }
    if (!good) wrong(name, fmt::format("a text, or a list of at most {} texts", most));
    return out;
}

const json* Members::object(std::string_view name) {
    const auto* value = take(name);
    if (value && !value->is_object()) {
        wrong(name, "an object");
        return nullptr;
    }
    return value;
}

const json* Members::list(std::string_view name, std::size_t most) {
    const auto* value = take(name);
    if (value && (!value->is_array() || value->size() > most)) {
        wrong(name, fmt::format("a list of at most {} values", most));
        return nullptr;
    }
    return value;
}

std::optional<Problem> Members::problem() {
    for (const auto& [name, value] : object_.items())
        if (!taken_.contains(name)) wrong(name, "no such member: it is unknown here");
    if (problem_.empty()) return {};
    return Problem{not_understood, "invalid-request", problem_};
}

} // namespace http
