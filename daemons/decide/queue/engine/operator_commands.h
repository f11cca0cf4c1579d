// What the operator asks for: gates that close without counting as anything, trying now, and changes to single
// messages. As the functions of Engine by these names.
#pragma once
#include "daemons/decide/queue/delivery/addresses.h"
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/engine/health_tracker.h"
#include "daemons/decide/queue/engine/sweeper.h"
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/age_watch.h"
#include "daemons/decide/queue/tables/scheduler.h"
#include <string_view>

namespace decide::queue {

class OperatorCommands {
public:
    OperatorCommands(const Settings& settings, Step& step, Gates& gates, Terms& terms, const NumberedNames& pools,
                     Messages& messages, Deliveries& deliveries, Links& links, Queues& queues, Scheduler& scheduler,
                     AgeWatch& ages, Addresses& addresses, Connections& connections, Reporter& reporter,
                     Placement& placement, HealthTracker& health, Sweeper& sweeper);

    // ---- links, queues, pools, everything ----
    bool set_paused(Scope scope, std::string_view name, bool on); // false: it was so already
    bool force(Scope scope, std::string_view name);
    void configure(); // settings have changed
    void routes_changed();

    // ---- one message ----
    bool force(spool::QueueId id);
    bool hold(spool::QueueId id);
    bool release(spool::QueueId id);
    void agent_released(spool::QueueId id);
    bool cancel(spool::QueueId id);
    bool expire(spool::QueueId id);
    bool change_lane(spool::QueueId id, Lane lane);
    bool change_lifetime(spool::QueueId id, smtp::Duration lifetime);
    bool reschedule(spool::QueueId id, smtp::WallTime at, smtp::WallTime expiry);
    bool requeue(spool::QueueId id, const RetryPolicy* policy);
    bool forget(spool::QueueId id);

private:
    void try_now(Slot delivery);

    const Settings& settings_;
    Step& step_;
    Gates& gates_;
    Terms& terms_;
    const NumberedNames& pools_;
    Messages& messages_;
    Deliveries& deliveries_;
    Links& links_;
    Queues& queues_;
    Scheduler& scheduler_;
    AgeWatch& ages_;
    Addresses& addresses_;
    Connections& connections_;
    Reporter& reporter_;
    Placement& placement_;
    HealthTracker& health_;
    Sweeper& sweeper_;
};

} // namespace decide::queue
