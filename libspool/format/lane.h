// The lane of a message by what is recorded of it: a name, or else the sign of its MT-PRIORITY (RFC 6710). Pure.
#pragma once
#include <cstdint>
#include <string_view>

namespace spool {

// "high", "normal", "bulk". A name that is not known is "normal".
constexpr std::string_view lane_name(std::string_view lane, std::int32_t priority) {
    if (lane == "high" || lane == "bulk") return lane == "high" ? "high" : "bulk";
    if (!lane.empty() || priority == 0) return "normal";
    return priority > 0 ? "high" : "bulk";
}

} // namespace spool
