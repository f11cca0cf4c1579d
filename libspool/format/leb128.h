// Numbers as LEB128: seven bits a byte, the lowest first, the high bit on all bytes but the last; signed ones zigzag,
// so that small negative numbers are short. On disk (fields.h) and between daemons (ipc/message.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spool::leb128 {

inline void put(std::string& out, std::uint64_t n) {
    while (n >= 0x80) {
        out.push_back(static_cast<char>(n | 0x80));
        n >>= 7;
    }
    out.push_back(static_cast<char>(n));
}

// The bytes that put() appends.
constexpr std::size_t size_of(std::uint64_t n) {
    std::size_t size = 1;
    for (; n >= 0x80; n >>= 7) ++size;
    return size;
}

enum class Taken : std::uint8_t { whole, cut_short, too_large }; // too large: more than 64 bits

// Takes a number off the front. What was taken of one that is not whole is lost.
inline Taken take(std::string_view& from, std::uint64_t& n) {
    n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (from.empty()) return Taken::cut_short;
        const auto byte = static_cast<unsigned char>(from.front());
        from.remove_prefix(1);
        if (shift == 63 && byte > 1) return Taken::too_large;
        n |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    return Taken::whole;
}

constexpr std::uint64_t zigzag(std::int64_t n) {
    return (static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63);
}
constexpr std::int64_t from_zigzag(std::uint64_t n) {
    return static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1);
}

} // namespace spool::leb128
