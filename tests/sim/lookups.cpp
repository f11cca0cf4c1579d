// Name servers that do not answer, and a router that goes: what was looked up in vain is looked up again by and by, and
// after what never was. Dice of its own: the worlds are otherwise what they were.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

void World::plan_lookups(std::int64_t span) {
    if (calm_ || life_ == Life::month || !lookup_dice_.chance(40)) return;
    for (std::size_t d = 0; d < domains_.size(); ++d) {
        if (!lookup_dice_.chance(50)) continue;
        const std::int64_t at = lookup_dice_.between(0, span);
        later(at, [this, d] { domains_[d].unanswered = !healed_; });
        later(at + lookup_dice_.between(1, 300) * minute, [this, d] { domains_[d].unanswered = false; });
    }
    for (auto n = lookup_dice_.between(0, 4); n > 0; --n) {
        const std::int64_t at = lookup_dice_.between(0, span);
        later(at, [this] { engine_->service(q::Service::router, q::Presence::down, now(), out_); });
        later(at + lookup_dice_.between(1, 3000) * second,
              [this] { engine_->service(q::Service::router, q::Presence::up, now(), out_); });
    }
}

void World::check_lookup(const std::string& queue) {
    const QueueBook& book = queues_[queue];
    if (time_ < book.route_until && pools_.empty()) wrong("a next hop is looked up again too early");
    if (healed_ || !pools_.empty()) return; // several things in one step; queues that are forgotten one by one
    if (book.lookups_failed > 0) repeated_at_ = steps_;
    if (book.lookups_failed == 0 && !book.routed && repeated_at_ == steps_)
        wrong("a look-up is repeated before another's first");
}

void World::looked_up(const std::string& queue, const q::Routed& r) {
    QueueBook& book = queues_[queue];
    book.routed = r.kind != q::RouteKind::temporary; // is asked for again in passing
    if (r.kind == q::RouteKind::temporary)
        book.lookups_failed = std::max(book.lookups_failed, 0) + 1;
    else
        book.lookups_failed = 0;
    if (r.kind != q::RouteKind::temporary) book.route_until = 0;
}

void World::does(const q::DomainForgotten& a) {
    for (auto& [name, book] : queues_)
        if (name.substr(0, name.find('@')) == a.domain)
            book.lookups_failed = 0, book.route_until = 0, book.routed = false;
}

} // namespace sim
