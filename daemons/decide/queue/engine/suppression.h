// Recipients that were put on the suppression list while their mail waited. Who is on it only the driver knows; here it
// is known which deliveries may be concerned: by a number for each address, by their domain. They are asked about
// before their next try, and what waits for its own time at once, so that the sender hears of it soon.
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
