#include "daemons/smtpd/auth/concurrency_limiter.h"

namespace smtpd {

bool Turnstile::enter(const Limits& limits, Ticket& ticket, std::function<void()> go) {
    most_inside_ = limits.inside;
    if (inside_.size() >= limits.inside && waiting_.size() >= limits.waiting) return false;
    ticket = ++tickets_;
    if (inside_.size() >= limits.inside) {
        waiting_.emplace_back(ticket, std::move(go));
    } else {
        inside_.insert(ticket);
        go();
    }
    return true;
}

void Turnstile::leave(Ticket& ticket) {
    const auto gone = std::exchange(ticket, 0);
    if (gone == 0) return;
    if (inside_.erase(gone) == 0)
        std::erase_if(waiting_, [&](const auto& each) { return each.first == gone; });
    while (!waiting_.empty() && inside_.size() < most_inside_) {
        auto [next, go] = std::move(waiting_.front());
        waiting_.pop_front();
        inside_.insert(next);
        go();
    }
}

} // namespace smtpd
