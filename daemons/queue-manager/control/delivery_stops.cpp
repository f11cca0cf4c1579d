#include "daemons/queue-manager/control/delivery_stops.h"
#include <utility>

namespace queue_manager {

void DeliveryStops::stop(spool::QueueId id, Before before, Then then) {
    auto [place, fresh] = stops_.try_emplace(id, Stop{before, {}});
    place->second.then.push_back(std::move(then));
    if (!fresh) return;
    if (!patience_.armed()) patience_.start(patience);
    deps_.stop(id);
}

void DeliveryStops::look() {
    std::vector<spool::QueueId> ended;
    for (const auto& [id, stop] : stops_)
        if (!deps_.in_flight(id)) ended.push_back(id);
    for (const auto id : ended) end(id, true);
}

void DeliveryStops::end(spool::QueueId id, bool stopped) {
    auto node = stops_.extract(id);
    if (node.empty()) return;
    if (stops_.empty()) patience_.stop();
    if (!stopped && node.mapped().before == Before::free) deps_.go_on(id);
    for (const auto& then : node.mapped().then) then(stopped);
}

void DeliveryStops::give_up() {
    while (!stops_.empty()) end(stops_.begin()->first, !deps_.in_flight(stops_.begin()->first));
}

} // namespace queue_manager
