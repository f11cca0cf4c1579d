// Each queue's share of its link's turns: what it could hand out now, its place in the link's ring, its timer. A link
// is scheduled when one of its queues has more to hand out than before.
#pragma once
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/queues.h"
#include "daemons/decide/queue/tables/route_lookups.h"
#include <vector>

namespace decide::queue {

class Scheduler {
public:
    Scheduler(const Settings& settings, Step& step, Links& links, Queues& queues, RouteLookups& lookups)
        : settings_(settings), step_(step), links_(links), queues_(queues), lookups_(lookups) {}

    // To be called whenever what it could hand out may have changed.
    void refresh(Slot queue);
    // When is the queue's next own moment?
    void arm(Slot queue);
    void detach(Slot queue);                             // from its link
    std::uint32_t capacity_of(const Queue& queue) const; // how many more of its deliveries may be under way
    std::vector<Slot> ring_of(Slot link) const;          // its queues with something to hand out

private:
    bool routable(Slot queue);
    void enter_ring(Slot queue, Link& link);
    void leave_ring(Slot queue, Link& link);

    const Settings& settings_;
    Step& step_;
    Links& links_;
    Queues& queues_;
    RouteLookups& lookups_;
};

} // namespace decide::queue
