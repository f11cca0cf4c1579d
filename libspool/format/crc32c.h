// CRC-32C (Castagnoli) with the usual inversions: crc32c("123456789") is 0xE3069283. Pieces chain through
// `seed`.
#pragma once
#include <cstdint>
#include <string_view>

namespace spool {

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

} // namespace spool
