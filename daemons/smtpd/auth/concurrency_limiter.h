// Admits a limited number at a time, lets a limited number wait in order, and rejects the rest: for work that is
// expensive, however many clients ask for it. Knows neither the work nor a clock.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <utility>

namespace smtpd {

class ConcurrencyLimiter {
public:
    struct Limits {
        std::uint32_t active = 1, waiting = 0;
    };
    using Ticket = std::uint64_t; // 0: none

    // `go` is called once, now or when others have left; `ticket` is set before that. False: rejected. A ticket must
    // be released.
    bool acquire(const Limits& limits, Ticket& ticket, std::function<void()> go);
    // Whether active or still waiting; the next ones start. Sets it to 0; does nothing if it is 0.
    void release(Ticket& ticket);

    std::size_t active() const { return active_.size(); }
    std::size_t waiting() const { return waiting_.size(); }

private:
    std::uint64_t last_ticket_ = 0; // so far
    std::uint32_t max_active_ = 1;
    std::set<Ticket> active_;
    std::deque<std::pair<Ticket, std::function<void()>>> waiting_;
};

} // namespace smtpd
