#include "daemons/decide/queue/tables/queues.h"
#include "daemons/decide/queue/listing.h"
#include <utility>

namespace decide::queue {

std::string Queues::queue_name(std::string_view domain, std::string_view pool) {
    return pool.empty() ? std::string(domain) : std::string(domain) + "@" + std::string(pool);
}

Slot Queues::find(std::string_view name) const {
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? none : known->second;
}

bool Queues::knows(Scope scope, std::string_view name) const {
    switch (scope) {
    case Scope::everything: return true;
    case Scope::link: return links_.find(name) != none;
    case Scope::queue: return find(name) != none;
    case Scope::pool: return !name.empty() && pools_.contains(name);
    }
    return false;
}

std::vector<Slot> Queues::of_domain(std::string_view domain) const {
    std::vector<Slot> out;
    for (const std::string& pool : pools_.all())
        if (const Slot known = find(queue_name(domain, pool)); known != none) out.push_back(known);
    return out;
}

void Queues::set_pool(Queue& queue, std::uint16_t pool) {
    queue.source_pool = pool;
    queue.pool_paused = pool != 0 && gates_.pools.contains(pools_[pool]);
}

Slot Queues::queue_for(std::string_view destination, Fate fate, std::uint16_t pool) {
    const bool store = fate == Fate::local;
    std::string key;
    if (store)
        key = std::string(store_prefix) + std::string(destination);
    else if (pool != 0)
        key = queue_name(destination, pools_[pool]);
    if (const Slot known = find(key.empty() ? destination : std::string_view(key)); known != none) return known;
    if (key.empty()) key = std::string(destination);
    const Slot slot = allocate();
    Queue& q = (*this)[slot];
    q.name = key;
    q.pool = store ? 0 : pool;
    q.domain_length = static_cast<std::uint16_t>(store ? key.size() : destination.size());
    q.paused = gates_.queues.contains(key);
    set_pool(q, q.pool);
    q.per_user = store && destination.find('/') != destination.npos;
    q.empty_since = step_.now();
    if (const auto known = snapshots_.take_queue(key)) snapshots_.restore(q.health, *known);
    if (const auto known = snapshots_.take_route(key)) { // looked up at once: it may be for this that we were restarted
        q.route_failures = known->failures;
        q.route_failing_since = known->failing_since;
        q.route_reason = known->last_error;
    }
    by_name_.emplace(key, slot);
    if (store) {
        q.route = RouteState::store;
        attach(slot, links_.find_or_add(std::string_view(key).substr(0, key.find('/')), AgentKind::local, false));
    }
    return slot;
}

void Queues::forget(Slot queue) {
    by_name_.erase((*this)[queue].name);
    release(queue);
}

void Queues::attach(Slot queue, Slot link) {
    (*this)[queue].link = link;
    (*this)[queue].linked = step_.seconds(step_.now());
    ++links_[link].queues;
    links_.join_terms((*this)[queue]);
}

} // namespace decide::queue
