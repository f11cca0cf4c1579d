// The result of an attempt for a recipient, in the same terms for every part of the
// system: the client session, the delivery agents, the queue, the message's file.
#pragma once
#include <cstdint>

namespace smtp {

enum class Outcome : std::uint8_t {
    delivered,
    deferred, // it failed, and is tried again
    failed,   // permanently
    last_ = failed,
};

} // namespace smtp
