// Stores of mailboxes, reached by LMTP or here: each recipient has a reply of its own after the dot, and a mailbox that
// is full is nobody else's trouble; and local users whose deliveries have a bound of their own. Dice of its own: the
// worlds are otherwise what they were.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

namespace {
constexpr std::uint32_t mailboxes = 5; // of each domain
} // namespace

void World::make_stores() {
    if (life_ == Life::month) return;
    users_ = store_dice_.chance(30);
    if (users_) settings_.connections_per_user = static_cast<std::uint32_t>(store_dice_.between(1, 3));
    if (!store_dice_.chance(40)) return;
    for (Host& h : hosts_) h.store = !h.mx && store_dice_.chance(60);
}

void World::choose_mailbox(Recipient& r) {
    r.mailbox = static_cast<std::uint32_t>(store_dice_.below(mailboxes));
    if (r.local && users_ && store_dice_.chance(60)) r.user = r.mailbox % 2 == 0 ? "local/u0" : "local/u1";
}

void World::plan_full(std::int64_t span) {
    if (life_ == Life::month || !store_dice_.chance(50)) return;
    for (auto n = store_dice_.between(1, 5); n > 0; --n) {
        const Domain& d = domains_[store_dice_.below(domains_.size())];
        const std::pair which(store_dice_.chance(30) ? "local" : d.name,
                              static_cast<std::uint32_t>(store_dice_.below(mailboxes)));
        const std::int64_t at = store_dice_.between(0, span);
        later(at, [this, which] {
            if (!healed_) full_.insert(which);
        });
        later(at + store_dice_.between(1, 300) * minute, [this, which] { full_.erase(which); });
    }
}

bool World::is_full(const Connection& c, Recipient& r) {
    if (!c.local && !hosts_[hosts_[c.host].machine].store) return false;
    if (!full_.contains({c.local ? "local" : r.domain, r.mailbox})) return false;
    r.found_full = true;
    return true;
}

std::uint32_t World::failures_of(const std::string& queue, const Connection& c) const {
    std::uint32_t out = 0;
    for (const auto& each : engine_->queues(now()))
        if (each.name == queue) out += each.failures;
    for (const auto& each : engine_->links(now()))
        if (!c.local && each.name == hosts_[c.host].name) out += each.failures;
    return out;
}

// What was refused for now is written down, and waits; or it has expired.
void World::check_recorded(spool::QueueId id, const std::vector<q::Result>& results) {
    for (const q::Result& each : results) {
        if (each.outcome != q::Outcome::deferred) continue;
        if (each.kind != decide::FailureKind::recipient && each.kind != decide::FailureKind::message) continue;
        const bool known = std::ranges::any_of(out_.list, [&](const q::Action& action) {
            const auto* deferral = std::get_if<q::RecordDeferral>(&action);
            const auto* expired = std::get_if<q::NoticeExpired>(&action);
            return (expired && expired->id == id) ||
                   (deferral && deferral->id == id && std::ranges::count(out_.of(deferral->numbers), each.number) > 0);
        });
        if (!known) wrong("a recipient was refused for now, and no deferral says so");
    }
}

void World::check_user(const Message& m, const Recipient& r) {
    std::uint32_t in_flight = 1;
    for (const auto& [id, c] : connections_)
        for (const Delivery& d : c.deliveries)
            if (c.local && c.incarnation == incarnation_ &&
                queue_of(*message(d.id), recipient(d.id, d.numbers[0])) == queue_of(m, r))
                ++in_flight;
    if (in_flight > settings_.connections_per_user) wrong("more deliveries of a user at a time than may be");
}

} // namespace sim
