// Lets so many in at a time, so many wait in order, and turns the rest away: for work that costs, however
// many clients ask for it. Knows neither the work nor a clock.
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

    // `go` is called once, now or when others have left; `ticket` is set before that. False: turned away.
    // Whoever has a ticket must give it back.
    bool acquire(const Limits& limits, Ticket& ticket, std::function<void()> go);
    // Inside or waiting still; the next ones go. Sets it to 0; nothing happens if it is.
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
