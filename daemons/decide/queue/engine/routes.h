// What the router says: queues get their links, move to others, or cannot be reached.
#pragma once
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/suspension_log.h"
#include "daemons/decide/queue/engine/route_resets.h"
#include "daemons/decide/queue/model/lanes.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/route_lookups.h"
#include "daemons/decide/queue/tables/scheduler.h"

namespace decide::queue {

class Routes {
public:
    Routes(const Settings& settings, Step& step, Terms& terms, const NumberedNames& pools, Links& links, Queues& queues,
           const Flows& flows, RouteLookups& lookups, Scheduler& scheduler, SuspensionLog& suspensions,
           Placement& placement, RouteResets& resets)
        : settings_(settings), step_(step), terms_(terms), pools_(pools), links_(links), queues_(queues), flows_(flows),
          lookups_(lookups), scheduler_(scheduler), suspensions_(suspensions), placement_(placement), resets_(resets) {}

    void pump(); // looks up what waits for it
    void routed(const Routed& event);
    void router_back(); // a new one knows of no link that is down

private:
    void routed(Slot queue, const Routed& event);

    const Settings& settings_;
    Step& step_;
    Terms& terms_;
    const NumberedNames& pools_;
    Links& links_;
    Queues& queues_;
    const Flows& flows_;
    RouteLookups& lookups_;
    Scheduler& scheduler_;
    SuspensionLog& suspensions_;
    Placement& placement_;
    RouteResets& resets_;
};

} // namespace decide::queue
