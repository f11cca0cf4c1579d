// Recipients that were put on the suppression list while their mail waited. Only the driver knows the list; the engine
// knows which deliveries may be affected: by a number for each address, and by domain. Affected deliveries are checked
// before their next try; those that wait for their own time are checked at once, so that the sender gets the report
// soon.
#pragma once
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/age_watch.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/queues.h"

namespace decide::queue {

class Suppression {
public:
    Suppression(const Settings& settings, Step& step, Deliveries& deliveries, const Queues& queues, AgeWatch& ages,
                Reporter& reporter, Placement& placement)
        : settings_(settings), step_(step), deliveries_(deliveries), queues_(queues), ages_(ages), reporter_(reporter),
          placement_(placement) {}

    void changed(const SuppressionChanged& event);
    void known(const SuppressionsKnown& event);

private:
    bool is_affected(const SuppressionChanged& event, Slot delivery) const; // keys and domains sorted

    const Settings& settings_;
    Step& step_;
    Deliveries& deliveries_;
    const Queues& queues_;
    AgeWatch& ages_;
    Reporter& reporter_;
    Placement& placement_;
};

} // namespace decide::queue
