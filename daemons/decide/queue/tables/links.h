// The links, found by name; the terms of each link, derived from its queues' routes (the strictest of each number; a
// queue's retry schedule, policy and authentication stay with the queue); and which links are to get their turn.
#pragma once
#include "daemons/decide/queue/containers/heap.h"
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/fleet_rates.h"
#include "daemons/decide/queue/tables/snapshots.h"
#include <string_view>
#include <vector>

namespace decide::queue {

class Links : public Slab<Link> {
public:
    Links(const Settings& settings, Step& step, const Gates& gates, const Services& services, const Terms& terms,
          NumberedNames& pools, Snapshots& snapshots, FleetRates& fleet);
    Links(const Links&) = delete;
    Links& operator=(const Links&) = delete;

    Slot find(std::string_view name) const; // none: not known
    Slot find_or_add(std::string_view name, AgentKind kind, bool mx);
    void forget(Slot link);
    std::size_t named() const { return by_name_.size(); }

    // ---- terms ----
    std::uint32_t limit_of(const Link& link) const; // of its connections
    void join_terms(const Queue& queue);            // of its link
    void leave_terms(const Queue& queue);           // settled when another joins, or by settle_terms()
    void settle_terms(Slot link);
    bool rate_open(Slot link); // may a message go over it now? else sets its timer
    // By its rates: may another message, or connection, begin at some time, {} now? `waiting`: how many are wanted.
    smtp::Monotonic next_message(const Link& link) const;
    smtp::Monotonic next_connection(const Link& link) const;
    // When the rates that the nodes share let a message begin on a connection of its own; {} now. Asks for tokens.
    smtp::Monotonic shared_rates_open(Slot link, std::uint32_t waiting);
    void message_begins(Slot link);
    void connection_begins(Slot link);
    void fleet_changed(const FleetPresence& presence);
    void tokens_granted(const TokensGranted& event);
    bool may_go_down(const Link& link) const;

    // ---- turns ----
    void schedule(Slot link); // it may have something to do; none: does nothing
    bool any_scheduled() const { return !scheduled_.empty(); }
    Slot next_scheduled(); // in the order of scheduling; none: that was the last
    // If no queue and no connection uses it any longer, it is forgotten after a while. It may be needed again soon, and
    // so may what is known about its health.
    void check_unused(Slot link);
    DueHeap<Link, &Link::timer, &Link::heap> timers{*this};

private:
    smtp::Monotonic next_at(smtp::Monotonic due) const; // from when the next gap of a rate counts

    // Slots are taken and given back only by the functions above.
    using Slab::allocate;
    using Slab::release;

    const Settings& settings_;
    Step& step_;
    const Gates& gates_;
    const Services& services_;
    const Terms& terms_;
    NumberedNames& pools_;
    Snapshots& snapshots_;
    FleetRates& fleet_;

    SlotsByName by_name_;
    std::vector<Slot> scheduled_;
    std::size_t taken_ = 0; // of them
};

} // namespace decide::queue
