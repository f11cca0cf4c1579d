// The name of a message: 48 bits of time (16 µs ticks since 2020-01-01 UTC) and the 8-bit slot of its writer.
// Written as 14 upper-case hexadecimal digits (as few as 10 are read). Ordered by acceptance time, never
// reused.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace spool {

struct QueueId {
    std::uint64_t value = 0; // (tick << 8) | slot; 0 is no id

    static constexpr std::uint64_t max = (std::uint64_t{1} << 56) - 1;

    bool valid() const { return value != 0 && value <= max; }
    std::uint64_t tick() const { return value >> 8; }
    std::uint8_t slot() const { return static_cast<std::uint8_t>(value); }

    // 14 digits, zero-padded.
    std::string text() const;
    // 10 to 14 upper-case hexadecimal digits; anything else is nothing.
    static std::optional<QueueId> parse(std::string_view text);

    auto operator<=>(const QueueId&) const = default;
};

} // namespace spool

template <> struct std::hash<spool::QueueId> {
    std::size_t operator()(const spool::QueueId& id) const noexcept {
        return static_cast<std::size_t>(id.value * 0x9E3779B97F4A7C15u);
    }
};
