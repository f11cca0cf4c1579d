// Logs new mail that is not tried at once because its link or queue is backing off after a failure: once for each, so
// that it can be found in the log. Mail found in the spool at startup was logged before. Also logs mail that no agent
// tries because its domain has no next hop.
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

    // The failure because of which due mail of a queue is not tried now; null: the queue is not backing off.
    const Reason* backoff_reason(Slot queue) const;
    // The failure after which its route, link or queue blocks all tries for a while; null: nothing is blocked, or the
    // wait is of our own making.
    const Reason* policy_backoff_reason(Slot queue) const;

    void log_suspended(Slot delivery, const Reason& reason);
    // Mail that already waited in a queue when its backoff began, or when it moved to a link that is backing off.
    void log_queue(Slot queue);
    void log_link(Slot link);
    void log_undelivered(Slot delivery, Outcome outcome, const Reason& reason);

private:
    // Limits on what one step logs and inspects when a link with a long queue starts to back off: further mail is
    // covered by the link's own log line and by listings.
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
