#include "daemons/decide/queue/tables/route_lookups.h"
#include <utility>

namespace decide::queue {

namespace {
constexpr std::uint32_t max_lookups = 10'000; // asked of the router at a time
constexpr std::uint32_t max_repeats = 1'000; // of these, after a failure: what does not answer leaves room for what may
} // namespace

void RouteLookups::add(Slot queue) {
    Queue& q = queues_[queue];
    if (q.lookup_queued || q.route == RouteState::requested || q.route == RouteState::store) return;
    if (q.route == RouteState::failed && step_.now() < q.route_until) {
        queues_.timers.bring_forward(queue, q.route_until);
        return;
    }
    q.lookup_queued = true;
    if (q.route == RouteState::impossible && step_.now() < q.route_until)
        pending_.push_front(queue); // nothing to ask
    else
        (q.route_failures > 0 ? repeated_ : pending_).push_back(queue);
}

void RouteLookups::request(Slot queue) {
    Queue& q = queues_[queue];
    q.lookup_queued = false;
    q.route = RouteState::requested;
    q.repeated_lookup = q.route_failures > 0;
    ++lookups_;
    repeats_ += q.repeated_lookup;
    step_.emit(AskRoute{q.domain(), pools_[q.pool]});
}

// Called as an event ends: deliveries of a domain that cannot receive mail end then, not inside another's
// step.
Slot RouteLookups::pump() {
    while (!pending_.empty()) {
        const Slot queue = pending_.front();
        Queue& q = queues_[queue];
        if (q.route == RouteState::impossible && step_.now() < q.route_until) {
            pending_.pop_front();
            q.lookup_queued = false;
            return queue;
        }
        if (!services_.router || lookups_ >= max_lookups) break;
        pending_.pop_front();
        request(queue);
    }
    while (!repeated_.empty() && services_.router && lookups_ < max_lookups && repeats_ < max_repeats) {
        const Slot queue = repeated_.front();
        repeated_.pop_front();
        request(queue);
    }
    return none;
}

void RouteLookups::answered(Queue& q) {
    --lookups_;
    repeats_ -= std::exchange(q.repeated_lookup, false);
}

void RouteLookups::router_gone() {
    lookups_ = repeats_ = 0;
    for (Slot slot = 1; slot <= queues_.top(); ++slot) {
        Queue& q = queues_[slot];
        if (q.name.empty() || q.route != RouteState::requested) continue;
        q.route = q.link != none ? RouteState::known : RouteState::unknown;
        add(slot);
    }
}

} // namespace decide::queue
