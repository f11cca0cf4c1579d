// New mail that is not tried at once, for its link or queue rests after a failure: said once of each, so that it is
// found in the log. What was found in the spool at the start was said before. Also mail that no agent tries, for its
// domain leads nowhere.
#pragma once
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/lanes.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/messages.h"
#include "daemons/decide/queue/tables/queues.h"

namespace decide::queue {

class SuspensionLog {
public:
    SuspensionLog(Step& step, const Gates& gates, const Messages& messages, Deliveries& deliveries, const Links& links,
                  Queues& queues, const Flows& flows)
        : step_(step), gates_(gates), messages_(messages), deliveries_(deliveries), links_(links), queues_(queues),
          flows_(flows) {}

    // Why what is due in a queue is not tried now: the failure it rests after; null: it does not rest.
    const Reason* backoff_reason(Slot queue) const;
    // The failure after which its route, link or queue lets nothing be tried for a while; null: it does, or that is
    // our own doing.
    const Reason* policy_backoff_reason(Slot queue) const;

    void log_suspended(Slot delivery, const Reason& reason);
    // What already waited in a queue when its rest began, or when it came to a link that rests.
    void log_queue(Slot queue);
    void log_link(Slot link);
    void log_undelivered(Slot delivery, Outcome outcome, const Reason& reason);

private:
    // What one step may tell and look at, where a link with a long queue begins to rest: of further mail the link's own
    // line and listings tell.
    struct LogBudget {
        std::uint32_t recipients = 1000, inspections = 10'000;
        bool exhausted() const { return recipients == 0 || inspections == 0; }
    };
    void log_queue(Slot queue, LogBudget& left);
    void mark_logged(Slot delivery); // the log has a line of it now

    Step& step_;
    const Gates& gates_;
    const Messages& messages_;
    Deliveries& deliveries_;
    const Links& links_;
    Queues& queues_;
    const Flows& flows_;
};

} // namespace decide::queue
