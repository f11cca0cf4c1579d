// The queues whose next hop is to be looked up, in order: what was never looked up, or last with success, comes before
// what failed, and what failed leaves room for the others.
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
    // Asks the router, as far as it may be asked now. A queue whose domain cannot receive mail: what is due there is to
    // fail, and this is to be called again; none: there is no more.
    Slot pump();
    void answered(Queue& queue);
    // What was asked is asked again when it is back.
    void router_gone();

private:
    void request(Slot queue);

    Step& step_;
    const Services& services_;
    const NumberedNames& pools_;
    Queues& queues_;
    std::deque<Slot> pending_, repeated_;     // to be looked up; whose last look-up failed
    std::uint32_t lookups_ = 0, repeats_ = 0; // asked of the router; of these: whose last one failed
};

} // namespace decide::queue
