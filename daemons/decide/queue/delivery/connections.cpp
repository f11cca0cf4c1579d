#include "daemons/decide/queue/delivery/connections.h"
#include <algorithm>

namespace decide::queue {

Connections::Connections(const Settings& settings, Step& step, Messages& messages, Deliveries& deliveries, Links& links,
                         Queues& queues, Scheduler& scheduler, Addresses& addresses)
    : settings_(settings), step_(step), messages_(messages), deliveries_(deliveries), links_(links), queues_(queues),
      scheduler_(scheduler), addresses_(addresses) {
    // A lone agent may be reserved at once.
    for (Reservation& each : reservations_) each.since = step.now() - settings.glitch_interval;
}

Agent* Connections::agent(AgentId id) {
    for (Agent& each : agents)
        if (each.id == id) return &each;
    return nullptr;
}

bool Connections::reserved(AgentId id) const { return reservations_[0].agent == id || reservations_[1].agent == id; }

Agent* Connections::least_busy(AgentKind kind) {
    Agent* best = nullptr;
    for (Agent& each : agents) {
        if (each.kind != kind || each.connections >= each.capacity || reserved(each.id)) continue;
        if (!best || each.connections < best->connections) best = &each;
    }
    return best;
}

Agent* Connections::agent_for(AgentKind kind) { return has_room() ? least_busy(kind) : nullptr; }

void Connections::attach_agent(AgentId id, AgentKind kind, std::uint32_t capacity) {
    agents.push_back(Agent{id, kind, capacity, 0, 0});
    freed_ = true;
}

void Connections::detach_agent(AgentId id) {
    for (Reservation& each : reservations_)
        if (each.agent == id) each = {.agent = {}, .since = step_.now()};
    std::erase_if(agents, [&](const Agent& each) { return each.id == id; });
}

Slot Connections::find(ConnectionId id) const {
    const Slot slot = static_cast<Slot>(id);
    if (slot == none || slot > top()) return none;
    const Connection& c = (*this)[slot];
    return c.link != none && c.generation == static_cast<std::uint32_t>(id >> 32) ? slot : none;
}

Slot Connections::make(Slot link, Agent& by, Slot queue) {
    Link& l = links_[link];
    const Slot slot = allocate();
    Connection& c = (*this)[slot];
    ++c.generation;
    c.agent = by.id;
    c.link = link;
    c.round = l.health.round;
    c.rule = queue == none ? l.rule : queues_[queue].rule;
    c.auth = queue == none ? 0 : queues_[queue].auth;
    c.last_done = step_.now();
    ++by.connections;
    ++l.opening;
    links_.connection_begins(link);
    l.connections.push(*this, slot, End::back);
    step_.emit(
        OpenConnection{by.id, id_of(slot), l.name, queue == none ? std::string_view() : queues_[queue].domain()});
    return slot;
}

void Connections::remove_delivery(Slot slot) {
    Delivery& d = deliveries_[slot];
    Connection& c = (*this)[d.holder];
    Queue& q = queues_[d.queue];
    c.deliveries.remove(deliveries_, slot);
    --links_[c.link].in_flight;
    --q.active;
    --messages_[d.message].active;
    --agent(c.agent)->in_flight;
    d.holder = none;
    d.cancelled = false;
    d.state = DeliveryState::held; // nowhere
    if (q.health.health != Health::ready && d.round == q.health.round) q.health.probing = false;
    if (q.per_user) scheduler_.refresh(d.queue);
}

// What cannot be stopped comes back as Done.
void Connections::cancel(Slot slot) {
    Delivery& d = deliveries_[slot];
    if (d.cancelled || d.state != DeliveryState::active) return;
    const Connection& c = (*this)[d.holder];
    if (links_[c.link].kind != AgentKind::smtp) return;
    d.cancelled = true;
    step_.emit(
        CancelDelivery{c.agent, id_of(d.holder), deliveries_.id_of(slot), spool::QueueId{messages_[d.message].id}});
}

void Connections::idle_or_close(Slot slot) {
    Connection& c = (*this)[slot];
    if (c.state != ConnectionState::up || !c.deliveries.empty()) return;
    if (c.isolated || c.handed >= settings_.messages_per_connection) {
        close(slot);
        return;
    }
    if (c.idle) return;
    c.idle = true;
    c.idle_since = step_.now();
    idle_.push(*this, slot, End::back);
    // Another link needs its place more than this one needs a spare connection.
    const bool wanted = !waiting_links_.empty() || addresses_.waited_for(c);
    if (wanted && links_[c.link].offer == 0) close(slot);
}

void Connections::leave_idle(Slot slot) {
    Connection& c = (*this)[slot];
    if (!c.idle) return;
    c.idle = false;
    idle_.remove(*this, slot);
}

void Connections::close_longest_idle() {
    if (!idle_.empty()) close(idle_.head);
}

void Connections::close_idle() {
    while (!idle_.empty() && (*this)[idle_.head].idle_since + settings_.connection_idle <= step_.now())
        close(idle_.head);
}

std::optional<smtp::Monotonic> Connections::next() const {
    if (idle_.empty()) return {};
    return (*this)[idle_.head].idle_since + settings_.connection_idle;
}

void Connections::close(Slot slot) {
    Connection& c = (*this)[slot];
    leave_idle(slot);
    Link& l = links_[c.link];
    --l.up;
    ++l.closing;
    c.state = ConnectionState::closing;
    step_.emit(CloseConnection{c.agent, id_of(slot)});
}

void Connections::release(Slot slot) {
    Connection& c = (*this)[slot];
    assert(c.deliveries.empty());
    leave_idle(slot);
    addresses_.leave_all(c);
    const Slot link = c.link;
    Link& l = links_[link];
    switch (c.state) {
    case ConnectionState::opening: --l.opening; break;
    case ConnectionState::up: --l.up; break;
    case ConnectionState::closing: --l.closing; break;
    }
    l.connections.remove(*this, slot);
    if (c.probe && l.health.health != Health::ready && c.round == l.health.round) l.health.probing = false;
    if (Agent* by = agent(c.agent)) --by->connections;
    const std::uint32_t generation = c.generation;
    Slab::release(slot);
    (*this)[slot].generation = generation;
    links_.check_unused(link);
    links_.schedule(link);
    freed_ = true;
}

void Connections::want(Slot link) {
    if (links_[link].wants_connection) return;
    links_[link].wants_connection = true;
    waiting_links_.push_back(link);
}

std::size_t Connections::begin_serving() {
    freed_ = false;
    return waiting_links_.size();
}

Slot Connections::next_waiting() {
    const Slot link = waiting_links_.front();
    waiting_links_.pop_front();
    links_[link].wants_connection = false;
    return link;
}

} // namespace decide::queue
