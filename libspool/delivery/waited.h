// Where a recipient's time went, gate by gate, in whole seconds. A value.
#pragma once
#include <cstdint>

namespace spool {

struct Waited {
    std::uint32_t schedule = 0; // asked for by the sender, or set by an operator
    std::uint32_t hold = 0;     // beyond its schedule
    std::uint32_t pause = 0;    // of everything, its link, queue or pool
    std::uint32_t link = 0;     // its link or queue backed off
    std::uint32_t retry = 0;    // from a failed try to its next one, by its own retry schedule
    static void fields(auto& m, auto& f) {
        f("schedule", m.schedule);
        f("hold", m.hold);
        f("pause", m.pause);
        f("link", m.link);
        f("retry", m.retry);
    }
    bool operator==(const Waited&) const = default;
};

} // namespace spool
