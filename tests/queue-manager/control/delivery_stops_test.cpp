#include "daemons/queue-manager/control/delivery_stops.h"
#include <doctest/doctest.h>
#include <set>

using queue_manager::DeliveryStops;
using Before = DeliveryStops::Before;

namespace {

struct World {
    std::set<spool::QueueId> in_flight, stopped;
    std::vector<bool> answers;
    common::Loop loop;
    DeliveryStops stops{loop,
                        {[this](spool::QueueId id) { return in_flight.contains(id); },
                         [this](spool::QueueId id) { stopped.insert(id); },
                         [this](spool::QueueId id) { stopped.erase(id); }}};
    void stop(spool::QueueId id, Before before = Before::free) {
        stops.stop(id, before, [this](bool stopped) { answers.push_back(stopped); });
    }
};

} // namespace

TEST_CASE("what is removed in flight waits until its delivery has ended") {
    World w;
    const spool::QueueId id{1}, other{2};
    w.in_flight = {id, other};
    w.stop(id);
    w.stop(id); // twice, by two operators
    w.stop(other);
    w.stops.look();
    CHECK(w.answers.empty());
    CHECK(w.stopped.size() == 2);
    w.in_flight.erase(id);
    w.stops.look();
    CHECK(w.answers == std::vector{true, true});
    CHECK(w.stopped.contains(id)); // it stays so until it is removed
}

TEST_CASE("what cannot be stopped goes on, unless it was held") {
    World w;
    const spool::QueueId id{1}, held{2};
    w.in_flight = {id, held};
    w.stop(id);
    w.stop(held, Before::held);
    w.stops.too_late(id);
    w.stops.too_late(held);
    w.stops.too_late(spool::QueueId{3}); // of nobody's asking
    CHECK(w.answers == std::vector{false, false});
    CHECK(w.stopped == std::set{held});
}
