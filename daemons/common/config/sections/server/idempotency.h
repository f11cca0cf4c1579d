// Idempotent submission: whether keys are used, and their lifetime. Values.
#pragma once
#include <chrono>
#include <cstdint>

namespace config {

struct Idempotency { // [idempotency]
    bool enabled = true;
    std::chrono::microseconds lifetime = std::chrono::hours(24); // of a key, from when its message was accepted
    std::uint64_t max_size = 256ULL << 20;                       // bytes of the store's file
};

} // namespace config
