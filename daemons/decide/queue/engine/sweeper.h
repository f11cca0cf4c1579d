// Applies the passage of time to messages, whatever the state of their queues: delay notice and expiry. A message is
// checked within one sweep step of each of its times. Nothing expires without a try since its last wait of our own
// making.
#pragma once
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/age_watch.h"

namespace decide::queue {

class Sweeper {
public:
    Sweeper(Step& step, Gates& gates, Messages& messages, Deliveries& deliveries, const Links& links,
            const Queues& queues, AgeWatch& ages, Connections& connections, Reporter& reporter, Placement& placement)
        : step_(step), gates_(gates), messages_(messages), deliveries_(deliveries), links_(links), queues_(queues),
          ages_(ages), connections_(connections), reporter_(reporter), placement_(placement) {}

    void sweep(Slot message);
    // Ages must not jump.
    void clock_stepped(smtp::Duration by);

private:
    // Is a failure, not our own doing, keeping it waiting, and was it tried since our own doing last did?
    bool expirable(const Delivery& delivery) const;
    Reason reason_for_expiry(Slot delivery) const;
    bool notify_of_delay(Slot message);
    void cancel_expired(Slot delivery);

    Step& step_;
    Gates& gates_;
    Messages& messages_;
    Deliveries& deliveries_;
    const Links& links_;
    const Queues& queues_;
    AgeWatch& ages_;
    Connections& connections_;
    Reporter& reporter_;
    Placement& placement_;
};

} // namespace decide::queue
