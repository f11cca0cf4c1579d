#include "libspool/format/crc32c.h"
#include <algorithm>
#include <cstddef>
#include <isa-l.h>

namespace spool {

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
    std::uint32_t running = ~seed;
    while (!bytes.empty()) {
        const auto part = bytes.substr(0, std::size_t{1} << 30); // the library counts in int
        // It takes a pointer to non-const and only reads.
        auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
        running = crc32_iscsi(data, static_cast<int>(part.size()), running);
        bytes.remove_prefix(part.size());
    }
    return ~running;
}

} // namespace spool
