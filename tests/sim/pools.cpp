// Several source addresses: a link to the same hosts from each, and queues and pauses of each. Dice of its own: the
// worlds are otherwise what they were.
#include "daemons/decide/hosts/mx.h"
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

void World::make_pools() {
    if (!pool_dice_.chance(30) || life_ == Life::month) return;
    pools_ = {"news"};
    if (pool_dice_.chance(50)) pools_.push_back("bulk");
    for (const std::string& pool : pools_)
        for (std::size_t machine = 0; machine < machines_; ++machine) {
            Host h = hosts_[machine];
            h.name = decide::link_from(h.name, pool);
            h.pool = pool;
            hosts_.push_back(std::move(h));
        }
    for (Domain& d : domains_)
        if (pool_dice_.chance(20)) d.pool = pools_[pool_dice_.below(pools_.size())];
}

Domain& World::domain_of(std::string_view name) { return *std::ranges::find(domains_, name, &Domain::name); }

// The pools follow one another, each with a link to every machine.
std::size_t World::host_at(std::size_t machine, std::string_view pool) const {
    const auto known = std::ranges::find(pools_, pool);
    return machine + (known == pools_.end() ? 0 : static_cast<std::size_t>(known - pools_.begin() + 1) * machines_);
}

const std::string& World::pool_of(const Message& m, const Domain& d) const { return m.pool.empty() ? d.pool : m.pool; }

std::string World::queue_of(const Message& m, const Recipient& r) const {
    if (r.local) return std::string(q::store_prefix) + std::string(r.user.empty() ? "local" : r.user);
    return m.pool.empty() ? r.domain : r.domain + "@" + m.pool;
}

// What is paused is left alone, and is not the worse for it.
void World::check_pauses(const Message& m, const Recipient& r, const Connection& c) {
    if (paused_queues_.contains(queue_of(m, r))) wrong("a delivery of a queue that is paused");
    if (!c.local && paused_pools_.contains(hosts_[c.host].pool)) wrong("a delivery from a pool that is paused");
}

void World::plan_pauses(std::int64_t span) {
    if (calm_ || !pool_dice_.chance(30)) return;
    for (auto n = pool_dice_.between(1, 4); n > 0; --n) {
        const bool pool = !pools_.empty() && pool_dice_.chance(50);
        std::string name =
            pool ? pools_[pool_dice_.below(pools_.size())] : domains_[pool_dice_.below(domains_.size())].name;
        if (!pool && !pools_.empty() && pool_dice_.chance(30)) name += "@" + pools_.front();
        if (!pool && pool_dice_.chance(10)) name = std::string(q::store_prefix) + "local";
        const auto scope = pool ? q::Scope::pool : q::Scope::queue;
        const std::int64_t at = pool_dice_.between(0, span);
        later(at, [this, scope, name] {
            if (healed_) return;
            say("pause " + name);
            (scope == q::Scope::pool ? paused_pools_ : paused_queues_).insert(name);
            engine_->pause(scope, name, now(), out_);
        });
        later(at + pool_dice_.between(1, 240) * minute, [this, scope, name] { resume(scope, name); });
    }
}

void World::resume(q::Scope scope, const std::string& name) {
    const bool pool = scope == q::Scope::pool;
    if ((pool ? paused_pools_ : paused_queues_).erase(name) == 0) return;
    say("resume " + name);
    for (auto& [queue, book] : queues_) {
        const auto at = queue.find('@');
        const bool of_pool = at != queue.npos ? queue.substr(at + 1) == name : name_of_route_pool(queue) == name;
        if (pool ? of_pool : queue == name) book.waited_until = time_;
    }
    engine_->resume(scope, name, now(), out_);
}

// By itself "" is no pool.
std::string World::name_of_route_pool(const std::string& queue) const {
    const auto d = std::ranges::find(domains_, queue, &Domain::name);
    return d == domains_.end() ? "" : d->pool;
}

void World::resume_all() {
    const auto all = [this](q::Scope scope, const std::set<std::string> names) {
        for (const std::string& name : names) {
            out_.clear();
            resume(scope, name);
            carry_out(); // before the next one: what it does is judged by what was known
        }
    };
    all(q::Scope::pool, paused_pools_);
    all(q::Scope::queue, paused_queues_);
    out_.clear();
}

} // namespace sim
