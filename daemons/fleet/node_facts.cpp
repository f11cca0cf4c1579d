#include "daemons/fleet/node_facts.h"
#include "libsmtp/text/text.h"
#include <nlohmann/json.hpp>

namespace fleet {

using nlohmann::json;

namespace {

constexpr std::size_t longest_word = 64;

std::string word_in(const json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? smtp::printable(found->get<std::string>(), longest_word) : "";
}

std::int64_t integer_in(const json& object, const char* name, std::int64_t otherwise) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

bool flag_in(const json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

} // namespace

std::string NodeFacts::text() const {
    return json{{"version", version},   {"instance", instance},   {"stopped", stopped},
                {"messages", messages}, {"accepting", accepting}, {"delivering", delivering},
                {"lag", lag},           {"waiting", waiting},     {"clock", clock}}
        .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<NodeFacts> NodeFacts::parse(std::string_view text) {
    if (text.size() > longest) return {};
    const auto object = json::parse(text, nullptr, false);
    if (!object.is_object()) return {};
    return NodeFacts{.version = word_in(object, "version"),
                     .instance = word_in(object, "instance"),
                     .stopped = flag_in(object, "stopped"),
                     .messages = integer_in(object, "messages", -1),
                     .accepting = flag_in(object, "accepting"),
                     .delivering = flag_in(object, "delivering"),
                     .lag = integer_in(object, "lag", -1),
                     .waiting = integer_in(object, "waiting", 0),
                     .clock = integer_in(object, "clock", 0)};
}

} // namespace fleet
