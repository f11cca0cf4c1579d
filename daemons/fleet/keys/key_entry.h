// What the store of the fleet has under an idempotency key, and the text that it is there:
//   "A <digest> <queue id> <node>"   a letter for the state; digest of the message, 64 hexadecimal digits
// Other nodes wrote it, or another program that reaches the store: anything else is not an entry. Pure.
#pragma once
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fleet {

struct KeyEntry {
    // reserved: for a short while; pledged: until its node says what became of the message; accepted: it is durable.
    enum class State : std::uint8_t { reserved, pledged, accepted };
    State state = State::reserved;
    std::string digest; // 32 bytes
    spool::QueueId id;
    std::string node;
    bool operator==(const KeyEntry&) const = default;

    std::string text() const; // the state's letter, a space, and the
    std::string tail() const; // rest, which stays the same while the state changes
    static std::optional<KeyEntry> parse(std::string_view text);
};

// Bytes as hexadecimal digits, two for each, and back; odd ones and other characters are none.
std::string hex_of(std::string_view bytes);
std::optional<std::string> bytes_of_hex(std::string_view digits);

} // namespace fleet
