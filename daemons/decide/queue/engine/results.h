// What agents report of connections and deliveries. Nothing is counted against mail for what is our own doing:
// connections closed, agents stopped.
#pragma once
#include "daemons/decide/queue/delivery/addresses.h"
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/engine/health_tracker.h"
#include "daemons/decide/queue/engine/outcomes.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/age_watch.h"
#include "daemons/decide/queue/tables/scheduler.h"

namespace decide::queue {

class Results {
public:
    Results(const Settings& settings, Step& step, const Terms& terms, Messages& messages, Deliveries& deliveries,
            Links& links, Queues& queues, Scheduler& scheduler, AgeWatch& ages, Addresses& addresses,
            Connections& connections, Reporter& reporter, Placement& placement, HealthTracker& health,
            Outcomes& outcomes)
        : settings_(settings), step_(step), terms_(terms), messages_(messages), deliveries_(deliveries), links_(links),
          queues_(queues), scheduler_(scheduler), ages_(ages), addresses_(addresses), connections_(connections),
          reporter_(reporter), placement_(placement), health_(health), outcomes_(outcomes) {}

    void connected(ConnectionId connection);
    void done(const Done& event);
    void closed(const Closed& event);
    void returned(const Returned& event);
    void agent_gone(AgentId agent, AgentExit how);

private:
    void record_transaction_time(Slot connection, Slot delivery);
    Slot take_back(Slot connection, bool failed, const Reason& reason);
    bool accounted_for(Slot delivery, const Reason& reason);
    void bounce_for_credentials(Slot link, Reason reason);
    void suspect(Slot delivery, bool was_alone);
    void accept_repeated(const Done& event);
    void accept_repeated_result(Slot message, const Result& result);

    const Settings& settings_;
    Step& step_;
    const Terms& terms_;
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
    Outcomes& outcomes_;
};

} // namespace decide::queue
