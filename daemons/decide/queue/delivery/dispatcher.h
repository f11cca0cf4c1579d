// How many connections a link has, and which delivery goes over which. Late binding: a connection takes what is best
// when it is free. A further one opens when what waits would keep the open ones busy for longer than the drain target,
// judged by the measured time of a transaction, up to the window.
#pragma once
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/lanes.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/messages.h"
#include "daemons/decide/queue/tables/queues.h"
#include "daemons/decide/queue/tables/scheduler.h"

namespace decide::queue {

class Dispatcher {
public:
    Dispatcher(const Settings& settings, Step& step, const Gates& gates, const NumberedNames& pools, Messages& messages,
               Deliveries& deliveries, Links& links, Queues& queues, Flows& flows, Scheduler& scheduler,
               Connections& connections)
        : settings_(settings), step_(step), gates_(gates), pools_(pools), messages_(messages), deliveries_(deliveries),
          links_(links), queues_(queues), flows_(flows), scheduler_(scheduler), connections_(connections) {}

    // The link's turn: what its queues have goes over its connections, and more of these are opened.
    void pump(Slot link);
    // There is room for connections again: for the links that asked first, as long as it lasts.
    void serve_waiting_links();
    void hand_over(Slot connection, Slot delivery); // which waits nowhere
    // Nothing was completed on a connection for twice the time in which all that waits should be gone: what was handed
    // to it ahead of its turn is wanted back, for other connections.
    void recall_stalled(Slot link);

private:
    std::uint32_t depth(const Link& link) const;
    std::uint32_t wanted(const Link& link) const;
    smtp::Duration pace(const Link& link) const;
    bool has_place(const Link& link);
    bool open_one(Slot link);
    void probe(Slot link);                      // by a connection without mail
    bool hand_over_next(Slot connection);       // false: none of the link's queues has mail for it
    Slot next_queue_for(Slot connection) const; // the link's next queue whose mail may go over it; none
    Slot queue_to_probe(const Link& link) const;
    Slot take_for_probe(Queue& queue);

    const Settings& settings_;
    Step& step_;
    const Gates& gates_;
    const NumberedNames& pools_;
    Messages& messages_;
    Deliveries& deliveries_;
    Links& links_;
    Queues& queues_;
    Flows& flows_;
    Scheduler& scheduler_;
    Connections& connections_;
};

} // namespace decide::queue
