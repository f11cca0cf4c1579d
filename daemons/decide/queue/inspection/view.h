// The state of the engine as inspection sees it: all of its parts, to read. Only for questions; what changes something
// is given the parts it needs.
#pragma once
#include "daemons/decide/queue/delivery/addresses.h"
#include "daemons/decide/queue/delivery/categorizer_queue.h"
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/lanes.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/age_watch.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/messages.h"
#include "daemons/decide/queue/tables/queues.h"
#include "daemons/decide/queue/tables/scheduler.h"
#include "daemons/decide/queue/tables/snapshots.h"

namespace decide::queue::inspection {

struct View {
    const Settings& settings;
    const Step& step;
    const Gates& gates;
    const Services& services;
    const Terms& terms;
    const NumberedNames& pools;
    const Messages& messages;
    const Deliveries& deliveries;
    const Links& links;
    const Queues& queues;
    const Flows& flows;
    const Scheduler& scheduler;
    const Snapshots& snapshots;
    const AgeWatch& ages;
    const Addresses& addresses;
    const Connections& connections;
    const CategorizerQueue& categorizer;
    const Reporter& reporter;
    const Placement& placement;
};

} // namespace decide::queue::inspection
