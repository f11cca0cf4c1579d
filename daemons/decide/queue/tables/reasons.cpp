#include "daemons/decide/queue/tables/reasons.h"

namespace decide::queue {

Reason reason_of(const Deliveries& deliveries, const Links& links, const Queues& queues, const Delivery& d) {
    if (d.queue == none) {
        const auto& groups = deliveries.undecided(d);
        return groups.empty() ? Reason{} : groups.front().reason;
    }
    const Queue& q = queues[d.queue];
    if (q.unroutable()) return q.route_reason;
    if (q.link != none && links[q.link].health.health != Health::ready) return links[q.link].health.last_error;
    if (q.health.health != Health::ready) return q.health.last_error;
    if (d.state == DeliveryState::isolated)
        return {"4.3.0", "a delivery agent crashed with this message in flight; it waits for its own agent", "", ""};
    return {};
}

} // namespace decide::queue
