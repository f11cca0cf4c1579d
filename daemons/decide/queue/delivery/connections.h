// The connections of all links, from opening to end, the agents that hold them, and the links that want another
// connection but are blocked by the overall limits.
#pragma once
#include "daemons/decide/queue/delivery/addresses.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/messages.h"
#include "daemons/decide/queue/tables/queues.h"
#include "daemons/decide/queue/tables/scheduler.h"
#include <array>
#include <deque>
#include <optional>
#include <vector>

namespace decide::queue {

class Connections : public Slab<Connection> {
public:
    // An agent set aside for suspects.
    struct Reservation {
        std::optional<AgentId> agent;
        smtp::Monotonic since{}; // reserved, or last given up
    };

    Connections(const Settings& settings, Step& step, Messages& messages, Deliveries& deliveries, Links& links,
                Queues& queues, Scheduler& scheduler, Addresses& addresses);
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    // ---- agents ----
    std::vector<Agent> agents; // in the order in which they came
    void attach_agent(AgentId id, AgentKind kind, std::uint32_t capacity);
    void detach_agent(AgentId id); // its connections must have been released
    Agent* agent(AgentId id);      // null: not known
    // The agent to open the next connection; null: none has room, or the total limit is reached.
    Agent* agent_for(AgentKind kind);
    bool reserved(AgentId id) const;
    Reservation& reservation(AgentKind kind) { return reservations_[static_cast<std::size_t>(kind)]; }
    const Reservation& reservation(AgentKind kind) const { return reservations_[static_cast<std::size_t>(kind)]; }

    // ---- connections ----
    bool has_room() const { return count() < settings_.connections_total; }
    Slot find(ConnectionId id) const; // none: it no longer exists
    ConnectionId id_of(Slot connection) const {
        return (std::uint64_t{(*this)[connection].generation} << 32) | connection;
    }
    Slot make(Slot link, Agent& by, Slot queue); // for its mail; none: a probe without
    void close(Slot connection);
    void idle_or_close(Slot connection); // nothing in flight: idle or closed
    void leave_idle(Slot connection);
    void close_longest_idle();
    void close_idle();                           // those that have been idle for too long
    std::optional<smtp::Monotonic> next() const; // when that is to be called
    void release(Slot connection);               // it has ended; its deliveries have been taken back
    // From its connection; not placed yet.
    void remove_delivery(Slot delivery);
    // It is to end, if it is in flight and its agent can.
    void cancel(Slot delivery);

    // ---- links that wait ----
    void want(Slot link);
    std::size_t waiting_besides(const Link& link) const {
        return waiting_links_.size() - (link.wants_connection ? 1 : 0);
    }
    void mark_freed() { freed_ = true; } // there may be room again
    bool freed() const { return freed_; }
    std::size_t begin_serving(); // how many links wait
    Slot next_waiting();         // that came first: it waits no more

private:
    using Slab::allocate; // only by make()
    Agent* least_busy(AgentKind kind);

    const Settings& settings_;
    Step& step_;
    Messages& messages_;
    Deliveries& deliveries_;
    Links& links_;
    Queues& queues_;
    Scheduler& scheduler_;
    Addresses& addresses_;

    List<Connection, &Connection::idle_prev, &Connection::idle_next> idle_;
    std::deque<Slot> waiting_links_;
    bool freed_ = false; // a connection ended or an agent came: links that wait may be served
    std::array<Reservation, 2> reservations_;
};

} // namespace decide::queue
