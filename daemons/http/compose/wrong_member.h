// An error in a member of the draft. Pure.
#pragma once
#include <expected>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace http::compose {

// "headers.To: expected one value."
inline std::unexpected<std::string> wrong_member(std::string_view member, std::string_view expected) {
    return std::unexpected(fmt::format("{}: expected {}.", member, expected));
}

} // namespace http::compose
