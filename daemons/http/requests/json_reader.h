// JSON in the body of a request: bounded before it is used. And its members, with errors that name them. Pure.
#pragma once
#include "daemons/http/requests/problem.h"
#include <expected>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace http {

inline constexpr int deepest = 32;
inline constexpr std::size_t most_values =
    100'000; // a value costs more memory than the two bytes that it may take in the body
inline constexpr std::size_t largest_beside_content = 1 << 20; // bytes: names and values that are not content

// An object. `content`: members at its top whose texts count as content.
std::expected<nlohmann::json, Problem> read_json(std::string_view text, const std::set<std::string_view>& content = {});

// The members of an object as a handler wants them. The first one that is wrong is kept; unknown ones are wrong.
class Members {
public:
    explicit Members(const nlohmann::json& object) : object_(object) {}

    std::string text(std::string_view name);
    bool flag(std::string_view name);
    std::uint64_t number(std::string_view name, std::uint64_t most);
    std::vector<std::string> texts(std::string_view name, std::size_t most); // one text counts as a list of one
    const nlohmann::json* object(std::string_view name);
    const nlohmann::json* list(std::string_view name, std::size_t most);
    // It is there, and not null.
    bool has(std::string_view name) const {
        const auto found = object_.find(name);
        return found != object_.end() && !found->is_null();
    }

    void wrong(std::string_view name, std::string_view expected);
    // What is wrong, after all members have been taken.
    std::optional<Problem> problem();

private:
    const nlohmann::json* take(std::string_view name);
    const nlohmann::json& object_;
    std::set<std::string, std::less<>> taken_;
    std::string problem_;
};

} // namespace http
