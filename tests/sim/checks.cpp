// The invariants (RELIABILITY, 3), asked after every step.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

void World::check() {
    if (!wrong_.empty()) return;
    check_links();
    check_stalls();
    if (steps_ % (life_ == Life::month ? 512 : 8) == 0 || messages_.size() < 10) check_books();
    if (life_ == Life::month && steps_ % 4096 == 0) check_growth();
}

// Every recipient that is owed something is held by the engine exactly once; nothing else is.
void World::check_books() {
    std::size_t live = 0;
    for (const auto& [id, m] : messages_) {
        if (m.gone) continue;
        ++live;
        const auto info = engine_->message(spool::QueueId{id}, now());
        if (!info) return wrong("the engine lost message " + spool::QueueId{id}.text());
        std::vector<int> held(m.recipients.size());
        bool whole = false;
        for (const auto& d : info->deliveries) {
            if (d.recipients.empty()) whole = true;
            for (auto n : d.recipients) {
                if (n >= held.size()) return wrong("the engine made up a recipient");
                // A result repeated while the categorizer is asked: its answer will be passed over.
                const bool passed_over = d.queue.empty() && m.recipients[n].written == Written::delivered;
                if (!passed_over) ++held[n];
            }
        }
        check_overdue(m);
        if (whole) continue;
        for (std::size_t n = 0; n < held.size(); ++n) {
            const Recipient& r = m.recipients[n];
            const bool owed = r.written == Written::open;
            if (held[n] > 1)
                return wrong("recipient " + std::to_string(n) + " of " + spool::QueueId{id}.text() + " is held twice");
            // Delivered or reported in the same breath, not written since nothing was left to write it for.
            if (owed && held[n] == 0 && r.delivered == 0 && !r.reported)
                return wrong("recipient " + std::to_string(n) + " of " + spool::QueueId{id}.text() + " is nowhere");
            if (!owed && held[n] > 0)
                return wrong("recipient " + std::to_string(n) + " of " + spool::QueueId{id}.text() +
                             " is done, yet held");
        }
        if (calm_ && !healed_ && !m.bad && !m.held) {
            for (const Recipient& r : m.recipients)
                if (r.written == Written::open && r.delivered == 0 && !r.reported && !r.rejected && !r.unknown &&
                    !r.local && !r.found_full && time_ - m.accepted > 10 * minute)
                    return wrong("good message " + spool::QueueId{id}.text() +
                                 " to a healthy host has waited ten minutes");
        }
    }
    const auto counts = engine_->counts();
    if (counts.messages != live) wrong("the engine counts other messages than there are");
    const auto sum = counts.uncategorized + counts.scheduled + counts.retrying + counts.paused + counts.routing +
                     counts.free + counts.active;
    if (sum > counts.deliveries) wrong("the engine counts a delivery in two states");
    if (counts.held == 0 && sum != counts.deliveries) wrong("the engine counts a delivery in no state");
}

// What the engine keeps is of mail that is there, or was lately.
void World::check_growth() {
    const std::int64_t since = time_ - settings_.forget_after.count() - 3600 * second;
    std::set<std::string> lately;
    for (const auto& [id, m] : messages_)
        if (!m.gone || m.gone_at > since)
            for (const Recipient& r : m.recipients) lately.insert(r.domain);
    const auto counts = engine_->counts();
    // A domain's mail may lie in several queues; a link outlives its mail while it is down.
    const std::size_t queues = 2 * lately.size() + 10;
    if (counts.queues > queues)
        wrong("the engine keeps " + std::to_string(counts.queues) + " queues for " + std::to_string(lately.size()) +
              " domains");
    if (counts.links > hosts_.size() + 1) wrong("the engine keeps more links than there are hosts");
    if (engine_->health_snapshot().size() > queues + hosts_.size()) wrong("the engine remembers more than there was");
}

// Nothing arrives for days: nothing is kept.
void World::check_rest() {
    constexpr std::int64_t days = 3 * 24 * 3600 * second;
    const std::int64_t end = time_ + days;
    while (wrong_.empty()) {
        const auto due = engine_->next_timer();
        const std::int64_t timer = due ? due->time_since_epoch().count() : INT64_MAX;
        const std::int64_t at = std::min(timer, plan_.empty() ? INT64_MAX : plan_.top().at);
        if (at > end) break;
        time_ = std::max(time_, at);
        out_.clear();
        if (!plan_.empty() && plan_.top().at <= time_) {
            auto what = plan_.top().what;
            plan_.pop();
            what();
        } else {
            engine_->timer(now(), out_);
        }
        carry_out();
        if (++steps_ > 60'000'000) wrong("the timer never rests");
    }
    const auto counts = engine_->counts();
    if (counts.messages > 0) wrong("messages after all was delivered");
    if (counts.queues > 0 || counts.links > 0 || counts.connections > 0)
        wrong("kept for nothing: " + std::to_string(counts.queues) + " queues, " + std::to_string(counts.links) +
              " links, " + std::to_string(counts.connections) + " connections");
    if (!engine_->health_snapshot().empty()) wrong("something is remembered of mail that has gone");
}

// A link that could do something does it.
void World::check_links() {
    const bool agent = std::ranges::any_of(agents_, [](const auto& a) { return a.second == q::AgentKind::smtp; });
    for (const auto& link : engine_->links(now())) {
        const auto h = std::ranges::find(hosts_, link.name, &Host::name);
        if (link.connections > link.limit && limits_.empty())
            return wrong("a link over its limit"); // it may have shrunk
        if (h == hosts_.end()) continue;
        const bool ready =
            link.health == q::Health::ready || link.next_attempt.time_since_epoch().count() - wall_offset_ <= time_;
        const bool could =
            link.offer > 0 && link.connections == 0 && !link.paused && agent && ready && !link.at_address_limit;
        if (!could) {
            h->stuck_since = -1;
        } else if (h->stuck_since < 0) {
            h->stuck_since = time_;
        } else if (time_ - h->stuck_since > (settings_.connections_total < 25 ? 20 * minute : 70 * second)) {
            return wrong(link.name + " has mail to hand out, no connection, and does nothing (" + link.idle_reason +
                         ")");
        }
    }
}

// What waits behind a transaction that does not move is given to others.
void World::check_stalls() {
    for (const auto& [id, c] : connections_)
        if (c.up && !c.closing && c.incarnation == incarnation_ && c.deliveries.size() > 2 &&
            time_ - c.moved > 2 * second)
            return wrong("mail is tied to a connection that does not move");
}

void World::check_start(const q::Deliver& a, const Connection& c) {
    const Message* m = message(a.id);
    if (!m || m->gone) return wrong("a delivery of a message that is gone");
    if (m->held) wrong("a delivery of a held message");
    if (paused_ && !c.up) wrong("a delivery though all is paused");
    if (m->not_before > time_ + wall_offset_ + second && !m->free_in_a_second)
        wrong("a scheduled message leaves early");
    for (auto n : out_.of(a.numbers)) {
        const Recipient& r = recipient(a.id, n);
        if (r.suppressed) wrong("a recipient that was suppressed before is tried");
        if (r.in_flight) wrong("a recipient is tried twice at the same time");
        if (r.written != Written::open) wrong("a recipient that is done is tried again");
        if (r.written == Written::open && r.delivered > 0 && incarnation_ == 1)
            wrong("a recipient is served twice without need");
        if (time_ < r.not_before) wrong("a recipient is tried before its time");
        if (!c.local) {
            const Domain& d = domain_of(r.domain);
            const Host& h = hosts_[c.host];
            if (d.host != h.machine && d.other != h.machine)
                wrong("a recipient is tried at a host that is not its own");
            if (h.pool != pool_of(*m, d)) wrong("mail leaves from a pool that is not its own");
            if (time_ < queues_[queue_of(*m, r)].not_before) wrong("a queue in retry is tried before its time");
        }
        check_pauses(*m, r, c);
        if (!r.user.empty() && n == out_.of(a.numbers)[0]) check_user(*m, r);
        if (r.suspect) {
            std::size_t in_flight = 0;
            for (const auto& [id, each] : connections_)
                if (each.agent == a.agent) in_flight += each.deliveries.size();
            if (in_flight > 0) wrong("a suspect is tried in company");
        }
    }
    std::set<std::string> places;
    for (auto n : out_.of(a.numbers)) places.insert(queue_of(*m, recipient(a.id, n)));
    if (places.size() > 1) wrong("recipients of several queues in one transaction");
    if (out_.of(a.numbers).size() > settings_.recipients_per_transaction)
        wrong("too many recipients in one transaction");
}

// The suppression list is being asked about it.
bool World::is_checked(std::uint64_t id, q::RecipientNumber number) const {
    for (const auto& each : engine_->explain(spool::QueueId{id}))
        if (each.recipients.empty() || std::ranges::count(each.recipients, number) > 0)
            return std::ranges::any_of(
                each.gates, [](const q::GateInfo& gate) { return gate.gate == q::Gate::suppression && !gate.open; });
    return false;
}

// The one try of a queue or link that is not ready is made with healthy mail, where it has any.
void World::check_probe(const q::Deliver& a, const Connection& c) {
    const Recipient& first = recipient(a.id, out_.of(a.numbers)[0]);
    if (c.local || c.up || !(first.problem || first.suspect)) return;
    const std::string its_queue = queue_of(*message(a.id), first);
    const bool link_is_probed = hosts_[c.host].health != q::Health::ready;
    if (!link_is_probed && queues_[its_queue].not_before == 0) return;
    const auto queues = engine_->queues(now());
    for (const auto& [id, m] : messages_) {
        const auto info = m.gone || id == a.id.value ? std::nullopt : engine_->message(spool::QueueId{id}, now());
        if (!info) continue;
        for (const auto& other : info->deliveries) {
            const bool waits = other.waiting == q::Waiting::queue || other.waiting == q::Waiting::link;
            const auto its = std::ranges::find(queues, other.queue, &q::QueueInfo::name);
            if (its == queues.end() || (its->name != its_queue && its->health != q::Health::ready)) continue;
            const bool there = link_is_probed && other.waiting == q::Waiting::link ? other.link == hosts_[c.host].name
                                                                                   : other.queue == its_queue;
            const bool fresh = !other.problem && other.failures == 0 && !other.recipients.empty() &&
                               !m.recipients[other.recipients[0]].suspect;
            if (waits && there && fresh && !is_checked(m.id, other.recipients[0]))
                return wrong("a probe is made with " + a.id.text() + ", a problem, and " + spool::QueueId{id}.text() +
                             ", which is not, waits (" + its_queue + ", " + other.queue + ")");
        }
    }
}

void World::check_expiry(const Message& m, const Recipient& r) {
    if (m.ended || out_of_tries(m, r)) return; // whatever it was that used them up
    const std::int64_t usual = (m.null_sender ? settings_.report_expiry : settings_.expiry).count();
    const std::int64_t life = m.lifetime > 0 ? m.lifetime : usual;
    if (!set_back_ && time_ + wall_offset_ < std::max(m.arrival, m.not_before) + life - 2 * second)
        wrong("a recipient expires too early");
    // A failed try of its queue or link stands for one of each recipient that has to wait for that, whichever message
    // it was made with: a host that stays down is not to be tried once more for each. So for the local store, whose
    // mailboxes share a queue. But the glitch that one message's failure costs its queue says nothing of the others.
    const QueueBook& book = queues_[queue_of(m, r)];
    std::int64_t queue = book.last_failure, link = -1, paused = -1;
    if (!r.local) {
        const Domain& d = domain_of(r.domain);
        const Host& first = hosts_[host_at(d.host, pool_of(m, d))];
        link = first.last_failure;
        paused = first.waited_until;
        if (d.other) {
            const Host& other = hosts_[host_at(*d.other, pool_of(m, d))];
            link = std::max(link, other.last_failure);
            paused = std::min(paused, other.waited_until);
        }
    }
    if (!book.routed && book.lookups_failed > 0) paused = -1; // without a route it waits for no link
    const std::int64_t tried = std::max({r.last_try, queue, link});
    const std::int64_t waited = std::max({waited_until_, paused, book.waited_until, m.waited_until});
    say("tried " + std::to_string(r.last_try / second) + ", queue " + std::to_string(queue / second) + ", link " +
        std::to_string(link / second) + ", waited until " + std::to_string(waited / second));
    if (tried < waited && m.expired > waited) wrong("a recipient expires without having been tried since our own wait");
}

} // namespace sim
