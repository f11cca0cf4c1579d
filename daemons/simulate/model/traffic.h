// When the messages of one [traffic] come. Pure: chance comes from outside.
#pragma once
#include "daemons/decide/queue/ladder.h"
#include "daemons/simulate/scenario/scenario.h"
#include <optional>

namespace postrider::simulate {

class Arrivals {
public:
    // Both must outlive it.
    Arrivals(const Traffic& traffic, decide::queue::Random& random)
        : traffic_(traffic), random_(random), at_(traffic.from) {}

    // Never earlier than the one before; nothing: no more come. Traffic::until must be set.
    std::optional<smtp::Duration> next();
    // How many came before it.
    std::uint64_t count() const { return count_; }

private:
    smtp::Duration gap() const;

    const Traffic& traffic_;
    decide::queue::Random& random_;
    smtp::Duration at_;
    std::uint64_t count_ = 0, of_burst_ = 0;
};

} // namespace postrider::simulate
