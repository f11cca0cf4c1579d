// The timers of queues and links: new tries, links that are down, and what has nothing to do and nothing to remember is
// forgotten.
#pragma once
#include "daemons/decide/queue/delivery/addresses.h"
#include "daemons/decide/queue/delivery/dispatcher.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/engine/health_tracker.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/route_lookups.h"
#include "daemons/decide/queue/tables/scheduler.h"
#include <optional>

namespace decide::queue {

class Housekeeping {
public:
    Housekeeping(const Settings& settings, Step& step, Links& links, Queues& queues, RouteLookups& lookups,
                 Scheduler& scheduler, Addresses& addresses, const Placement& placement, Dispatcher& dispatcher,
                 HealthTracker& health)
        : settings_(settings), step_(step), links_(links), queues_(queues), lookups_(lookups), scheduler_(scheduler),
          addresses_(addresses), placement_(placement), dispatcher_(dispatcher), health_(health) {}

    void run_due();
    std::optional<smtp::Monotonic> next() const;

private:
    void queue_timer(Slot queue);
    void forget_queue(Slot queue);
    void link_timer(Slot link);
    void forget_link(Slot link);

    const Settings& settings_;
    Step& step_;
    Links& links_;
    Queues& queues_;
    RouteLookups& lookups_;
    Scheduler& scheduler_;
    Addresses& addresses_;
    const Placement& placement_;
    Dispatcher& dispatcher_;
    HealthTracker& health_;
};

} // namespace decide::queue
