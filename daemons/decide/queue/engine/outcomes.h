// The results of one delivery, sorted by what failed: recipient, message, queue or link; and the consequences for each
// of them.
#pragma once
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/delivery/suspension_log.h"
#include "daemons/decide/queue/engine/health_tracker.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/scheduler.h"
#include <utility>
#include <vector>

namespace decide::queue {

class Outcomes {
public:
    Outcomes(const Settings& settings, Step& step, Terms& terms, Messages& messages, Deliveries& deliveries,
             Links& links, Queues& queues, Scheduler& scheduler, Reporter& reporter, const SuspensionLog& suspensions,
             Placement& placement, HealthTracker& health)
        : settings_(settings), step_(step), terms_(terms), messages_(messages), deliveries_(deliveries), links_(links),
          queues_(queues), scheduler_(scheduler), reporter_(reporter), suspensions_(suspensions), placement_(placement),
          health_(health) {}

    // The delivery has been taken from its connection, and is placed or removed here.
    void process(Slot delivery, Slot link, Slot connection, const Done& event);
    // Under a named policy, the failure that its link or queue is now backing off after counts for the message the try
    // was made for. False: it has no such policy, or nothing is backing off.
    bool count_by_policy(Slot delivery, const Reason& reason);

private:
    struct Verdicts {
        std::vector<Entry> delivered;
        std::vector<Entry> told;                                   // delivered, and the sender gets a report
        std::vector<Entry> by_message;                             // failed with the message, for now
        std::vector<std::pair<Entry, const Reason*>> by_recipient; // each on its own retry schedule
        std::vector<Entry> untried;                                // the queue's or the link's failure
        std::vector<Entry> unnamed;                                // the agent returned no result for them
        const Reason* message = nullptr;
        const Reason* policy = nullptr;
        const Reason* connection = nullptr;
        bool answered = false; // the session reached a verdict on message or recipients
        bool dropped = false;
        PushBack push_back = PushBack::no;
    };
    Verdicts classify(Slot delivery, const Done& event);
    void update_link_health(Slot link, Slot connection, std::uint64_t id, const Verdicts& verdicts);
    void defer_message(const Delivery& like, Slot& spare, Verdicts& verdicts, smtp::Monotonic due);
    void defer_recipients(const Delivery& like, Slot& spare, Verdicts& verdicts);

    const Settings& settings_;
    Step& step_;
    Terms& terms_;
    Messages& messages_;
    Deliveries& deliveries_;
    Links& links_;
    Queues& queues_;
    Scheduler& scheduler_;
    Reporter& reporter_;
    const SuspensionLog& suspensions_;
    Placement& placement_;
    HealthTracker& health_;
};

} // namespace decide::queue
