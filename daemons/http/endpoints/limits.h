// How much of a list a client wants, and other numbers of a query. Pure.
#pragma once
#include "daemons/common/web/message.h"
#include "daemons/http/requests/problem.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

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

// Where a list continues: "next" of the answer before, made of a number.
inline std::expected<std::uint64_t, Problem> place_in(const web::Request& request, std::uint64_t otherwise = 0) {
    const auto text = request.parameter("after");
    if (text.empty()) return otherwise;
    const auto place = smtp::parse_number(text, std::numeric_limits<std::int64_t>::max());
    if (!place) return std::unexpected(Problem{400, "invalid-request", "after: expected \"next\" of a list's answer."});
    return *place;
}

// The part of a list that a client wants; the rest begins at `next`, "" if there is none.
struct ListPart {
    std::uint64_t from = 0, limit = default_limit;

    template <class List> std::pair<List, std::string> of(const List& all) const {
        const auto begin = std::min<std::uint64_t>(from, all.size()), end = std::min(begin + limit, all.size());
        return {List(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)),
                end < all.size() ? std::to_string(end) : ""};
    }
};

inline std::expected<ListPart, Problem> part_in(const web::Request& request) {
    const auto limit = limit_in(request);
    if (!limit) return std::unexpected(limit.error());
    const auto place = place_in(request);
    if (!place) return std::unexpected(place.error());
    return ListPart{.from = *place, .limit = *limit};
}

} // namespace http
