// Where the time goes until a connection takes mail: one phase after the other, for all hosts that are tried. Pure.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "libsmtp/text/time_types.h"
#include <algorithm>
#include <cstdint>
#include <limits>

namespace smtp_client {

class SetupClock {
public:
    using Phase = std::uint32_t proto::delivery::SetupTimes::*; // null: none

    void enter(Phase phase, smtp::Monotonic now) {
        times_ = until(now);
        phase_ = phase;
        since_ = now;
    }
    // With what the phase in progress has taken.
    proto::delivery::SetupTimes until(smtp::Monotonic now) const {
        auto out = times_;
        if (phase_ == nullptr || now <= since_) return out;
        const auto sum = std::int64_t{out.*phase_} + smtp::Duration(now - since_).count();
        out.*phase_ =
            static_cast<std::uint32_t>(std::min<std::int64_t>(sum, std::numeric_limits<std::uint32_t>::max()));
        return out;
    }
    void restart() {
        times_ = {};
        phase_ = nullptr;
    }

private:
    proto::delivery::SetupTimes times_;
    Phase phase_ = nullptr;
    smtp::Monotonic since_{};
};

} // namespace smtp_client
