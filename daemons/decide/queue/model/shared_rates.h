// The rates of one link that all nodes of a fleet keep together.
#pragma once
#include "daemons/decide/queue/events.h"
#include <array>
#include <memory>

namespace decide::queue {

class SharedRates {
public:
    // Null: that one is not shared.
    std::unique_ptr<RateLease>& operator[](SharedRate rate) { return leases_[static_cast<std::size_t>(rate)]; }
    const std::unique_ptr<RateLease>& operator[](SharedRate rate) const {
        return leases_[static_cast<std::size_t>(rate)];
    }

private:
    std::array<std::unique_ptr<RateLease>, static_cast<std::size_t>(SharedRate::last_) + 1> leases_;
};

} // namespace decide::queue
