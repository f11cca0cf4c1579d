// When a gate was closed, as far back as it is remembered: for how long mail waited before it. Plain data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace decide::queue {

using Seconds = std::uint32_t; // of the monotonic clock since the engine began; 0: never

struct Period {
    Seconds from = 0, to = 0;
};
using Periods = std::vector<Period>;

// How long at least one of them was.
Seconds total(Periods periods);

class ClosedTimes {
public:
    static constexpr std::size_t most = 64; // periods; of earlier ones nothing is known any longer

    void set(bool closed, Seconds now);
    bool closed() const { return since_ != 0; }
    // Adds what of them lies between the two.
    void collect(Seconds from, Seconds to, Periods& out) const;

private:
    Periods past_;
    Seconds since_ = 0; // closed since then; 0: open
};

} // namespace decide::queue
