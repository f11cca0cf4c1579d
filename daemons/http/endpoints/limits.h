// How much of a list a client wants. Pure.
#pragma once
#include "daemons/common/web/message.h"
#include "daemons/http/requests/problem.h"
#include <charconv>
#include <cstdint>
#include <expected>
#include <fmt/format.h>

namespace http {

inline constexpr std::uint64_t default_limit = 100, largest_limit = 1000;

inline std::expected<std::uint64_t, Problem> limit_in(const web::Request& request) {
    const auto text = request.parameter("limit");
    if (text.empty()) return default_limit;
    std::uint64_t limit = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (error != std::errc{} || rest != text.data() + text.size() || limit == 0 || limit > largest_limit)
        return std::unexpected(
            Problem{400, "invalid-request", fmt::format("limit: expected a number from 1 to {}.", largest_limit)});
    return limit;
}

} // namespace http
