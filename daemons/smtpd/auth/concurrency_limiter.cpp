#include "daemons/smtpd/auth/concurrency_limiter.h"

namespace smtpd {

bool ConcurrencyLimiter::acquire(const Limits& limits, Ticket& ticket, std::function<void()> go) {
    max_active_ = limits.active;
    if (active_.size() >= limits.active && waiting_.size() >= limits.waiting) return false;
    ticket = ++last_ticket_;
    if (active_.size() >= limits.active) {
        waiting_.emplace_back(ticket, std::move(go));
    } else {
        active_.insert(ticket);
        go();
    }
    return true;
}

void ConcurrencyLimiter::release(Ticket& ticket) {
    const auto gone = std::exchange(ticket, 0);
    if (gone == 0) return;
    if (active_.erase(gone) == 0) std::erase_if(waiting_, [&](const auto& each) { return each.first == gone; });
    while (!waiting_.empty() && active_.size() < max_active_) {
        auto [next, go] = std::move(waiting_.front());
        waiting_.pop_front();
        active_.insert(next);
        go();
    }
}

} // namespace smtpd
