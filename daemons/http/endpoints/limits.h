// How much of a list a client wants, and other numbers of a query. Pure.
#pragma once
#include "daemons/common/web/message.h"
#include "daemons/http/requests/problem.h"
#include <charconv>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <string_view>

namespace http {

inline constexpr std::uint64_t default_limit = 100, largest_limit = 1000;

// From 1 to `most`.
inline std::expected<std::uint64_t, Problem> number_in(const web::Request& request, std::string_view name,
                                                       std::uint64_t otherwise, std::uint64_t most) {
    const auto text = request.parameter(name);
    if (text.empty()) return otherwise;
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || rest != text.data() + text.size() || number == 0 || number > most)
        return std::unexpected(
            Problem{400, "invalid-request", fmt::format("{}: expected a number from 1 to {}.", name, most)});
    return number;
}

inline std::expected<std::uint64_t, Problem> limit_in(const web::Request& request) {
    return number_in(request, "limit", default_limit, largest_limit);
}

} // namespace http
