// The queues whose next hop must be looked up, in order: those never looked up, or last with success, come before those
// that failed, and failed ones leave room for the others.
#pragma once
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/queues.h"
#include <deque>

namespace decide::queue {

class RouteLookups {
public:
    RouteLookups(Step& step, const Services& services, const NumberedNames& pools, Queues& queues)
        : step_(step), services_(services), pools_(pools), queues_(queues) {}

    void add(Slot queue);
    // Requests lookups from the router, as far as allowed now. Returns a queue whose domain cannot receive mail: what
    // is due there must fail, then call this again; none: there is no more.
    Slot pump();
    void answered(Queue& queue);
    // Pending requests are repeated when it is back.
    void router_gone();

private:
    void request(Slot queue);

    Step& step_;
    const Services& services_;
    const NumberedNames& pools_;
    Queues& queues_;
    std::deque<Slot> pending_, repeated_;     // to be looked up; those whose last lookup failed
    std::uint32_t lookups_ = 0, repeats_ = 0; // requested from the router; of these: whose last one failed
};

} // namespace decide::queue
