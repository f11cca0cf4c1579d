// Idempotent submission: whether keys are used, what has to be equal, and their lifetime. Values.
#pragma once
#include <chrono>
#include <cstdint>

namespace config {

// What makes a submission a repetition of an earlier one.
enum class IdempotencyMatch : std::uint8_t {
    key,     // the same key of the same submitter
    content, // and the same content, sender and recipients
};

struct Idempotency { // [idempotency]
    bool enabled = true;
    IdempotencyMatch match = IdempotencyMatch::key;
    std::chrono::microseconds lifetime = std::chrono::hours(24); // of a key, from when its message was accepted
    std::uint64_t max_size = 256ULL << 20;                       // bytes of the store's file
};

} // namespace config
