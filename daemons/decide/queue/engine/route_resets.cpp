#include "daemons/decide/queue/engine/route_resets.h"
#include <algorithm>

namespace decide::queue {

namespace {
constexpr auto between_resets = std::chrono::minutes(1);
}

void RouteResets::schedule() {
    const smtp::Monotonic earliest = last_ == smtp::Monotonic{} ? step_.now() : last_ + between_resets;
    const smtp::Monotonic at = std::max(earliest, step_.now());
    at_ = at_ ? std::min(*at_, at) : at;
}

void RouteResets::run() {
    if (!at_ || step_.now() < *at_ || !services_.router || open_ > 0) return;
    at_.reset();
    last_ = step_.now();
    moved_ = asked_ = 0;
    failed_ = false;
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || q.route != RouteState::known || q.link == none || links_[q.link].mx) continue;
        q.route_until = step_.now();
        if (q.deliveries == 0) continue;
        q.resetting = true;
        ++open_;
        ++asked_;
        lookups_.add(slot);
    }
    if (open_ == 0) step_.emit(NoticeReset{0, 0, {}});
}

void RouteResets::answered(Slot queue, bool found, bool moved) {
    Queue& q = queues_[queue];
    if (!q.resetting) return;
    q.resetting = false;
    moved_ += moved ? 1 : 0;
    failed_ = failed_ || !found;
    if (--open_ > 0) return;
    step_.emit(NoticeReset{asked_, moved_, step_.now() - last_});
    if (failed_ && !at_) at_ = step_.now() + settings_.reset_routes_retry;
}

std::optional<smtp::Monotonic> RouteResets::next() const { return services_.router && open_ == 0 ? at_ : std::nullopt; }

} // namespace decide::queue
