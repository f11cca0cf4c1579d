// Poison: a delivery that was in flight when an agent crashed is next tried alone, on an agent that has nothing else in
// flight. With several agents one is set aside for that; a lone agent serves suspects when it is idle, or lets its work
// run out for them now and then.
#pragma once
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/delivery/dispatcher.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/step.h"
#include <optional>

namespace decide::queue {

class Isolation {
public:
    Isolation(const Settings& settings, Step& step, const Gates& gates, Deliveries& deliveries, Links& links,
              Queues& queues, Scheduler& scheduler, Connections& connections, Placement& placement,
              Dispatcher& dispatcher)
        : settings_(settings), step_(step), gates_(gates), deliveries_(deliveries), links_(links), queues_(queues),
          scheduler_(scheduler), connections_(connections), placement_(placement), dispatcher_(dispatcher) {}

    // The suspects' turn, if there are any.
    void pump();
    // When a lone, busy agent is to be asked to make room; and when that has taken too long.
    std::optional<smtp::Monotonic> next() const;

private:
    void pump(AgentKind kind);
    void give_up(Connections::Reservation& reservation);
    bool is_lone(AgentKind kind) const; // are there no other agents of that kind?
    // With a token of a shared rate: it is asked for.
    enum class Token : std::uint8_t { later, now };
    bool may_try(const Delivery& delivery, Token token) const;
    Slot next_suspect(AgentKind kind, Token token);

    const Settings& settings_;
    Step& step_;
    const Gates& gates_;
    Deliveries& deliveries_;
    Links& links_;
    Queues& queues_;
    Scheduler& scheduler_;
    Connections& connections_;
    Placement& placement_;
    Dispatcher& dispatcher_;
};

} // namespace decide::queue
