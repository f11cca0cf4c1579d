// Health of links and queues: ready → glitch → retry, one try per rung, and back to ready after a success; and
// configured links that are down: the router is informed, mail moves, probes without mail bring them back up.
#pragma once
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/suspension_log.h"
#include "daemons/decide/queue/engine/route_resets.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"

namespace decide::queue {

class HealthTracker {
public:
    HealthTracker(const Settings& settings, Step& step, Terms& terms, Messages& messages, Links& links, Queues& queues,
                  Scheduler& scheduler, const Connections& connections, SuspensionLog& suspensions,
                  Placement& placement, RouteResets& resets)
        : settings_(settings), step_(step), terms_(terms), messages_(messages), links_(links), queues_(queues),
          scheduler_(scheduler), connections_(connections), suspensions_(suspensions), placement_(placement),
          resets_(resets) {}

    void link_succeeded(Slot link);
    void link_failed(Slot link, Slot connection, PushBack push_back, Phase phase, const Reason& reason);
    void push_back(Slot link, std::uint32_t open); // the peer accepts only this number of connections
    void probe_succeeded(Slot link);
    void mark_down(Slot link);
    void mark_up(Slot link);

    void queue_succeeded(Slot queue);
    // The domain's own policy: every try counts, whichever message it was made for.
    void queue_failed(Slot queue, const Reason& reason);
    // A message failed on its queue; when is its next try?
    smtp::Monotonic message_failed(Slot queue, const Delivery& delivery, const Reason& reason);

private:
    // True: its health is another one than before.
    bool climb(HealthState& health, const Ladder& rungs, smtp::Monotonic due, const Reason& reason);
    void notice_link(Slot link, std::uint32_t event, bool changed);
    void notice_queue(Slot queue, std::uint32_t event, bool changed);

    const Settings& settings_;
    Step& step_;
    Terms& terms_;
    Messages& messages_;
    Links& links_;
    Queues& queues_;
    Scheduler& scheduler_;
    const Connections& connections_;
    SuspensionLog& suspensions_;
    Placement& placement_;
    RouteResets& resets_;
};

} // namespace decide::queue
