// Unpredictable bytes from the kernel: keys, salts, nonces.
#pragma once
#include <string>

namespace common {

// Never fewer, never worse: without them the process ends.
std::string random_bytes(std::size_t size);

} // namespace common
