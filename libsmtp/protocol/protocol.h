// The protocol of a next hop.
#pragma once
#include <cstdint>

namespace smtp {

enum class Protocol : std::uint8_t {
    smtp, // RFC 5321
    lmtp, // RFC 2033: LHLO, and a reply for each accepted recipient behind the final dot
    last_ = lmtp,
};

// Where it is not said otherwise.
constexpr std::uint16_t default_port(Protocol protocol) { return protocol == Protocol::lmtp ? 24 : 25; }

} // namespace smtp
