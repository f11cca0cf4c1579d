// Numbers of lines, one after the other.
#pragma once
#include <cstdint>

namespace spool::journal {

struct Numbers {
    std::uint64_t from = 0, to = 0; // both included
    bool operator==(const Numbers&) const = default;
};

} // namespace spool::journal
