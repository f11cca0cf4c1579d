#include "daemons/decide/queue/tables/waiting_times.h"
#include <algorithm>
#include <utility>

namespace decide::queue {

GateWaits WaitingTimes::of(const Delivery& delivery) const {
    const Seconds until = step_.seconds(delivery.state == DeliveryState::active ? delivery.due : step_.now());
    if (delivery.ready == 0 || delivery.queue == none || delivery.ready >= until) return {};
    const Queue& queue = queues_[delivery.queue];
    const Seconds on_link = std::max(delivery.ready, queue.linked);
    Periods closed; // by operators; then also by failures
    const auto collect = [&](const Gates::Closings& of, std::string_view name, Seconds from) {
        if (const auto known = of.find(name); known != of.end()) known->second.collect(from, until, closed);
    };
    gates_.closings.collect(delivery.ready, until, closed);
    collect(gates_.queue_closings, queue.name, delivery.ready);
    collect(gates_.pool_closings, pools_[queue.source_pool], delivery.ready);
    if (queue.link != none) collect(gates_.link_closings, links_[queue.link].name, on_link);
    GateWaits waits;
    waits.pause = total(closed);
    queue.health.failing.collect(delivery.ready, until, closed);
    if (queue.link != none) links_[queue.link].health.failing.collect(on_link, until, closed);
    waits.link = total(std::move(closed)) - waits.pause;
    return waits;
}

} // namespace decide::queue
