// The operator's commands, at any time: hold, release, remove, expire, another lifetime or lane, requeue by another
// policy, force. What each promises is asked as soon as it is done. Dice of its own: the worlds are otherwise what they
// were.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

using namespace std::chrono_literals;

void World::plan_hand(std::int64_t span) {
    if (calm_ || life_ == Life::month || !hand_dice_.chance(40)) return;
    for (auto n = hand_dice_.between(1, 25); n > 0; --n) later(hand_dice_.between(0, span), [this] { command(); });
    if (!hand_dice_.chance(30)) return;
    const std::int64_t at = hand_dice_.between(0, span); // what was found in the spool is not categorized yet
    later(at, [this] {
        if (!healed_) restart(false);
    });
    for (int n = 0; n < 20; ++n)
        later(at + 30 * second, [this] {
            if (const auto open = std::ranges::find_if(messages_,
                                                       [&](const auto& each) {
                                                           return !each.second.gone && !each.second.removed &&
                                                                  each.first > last_requeued_;
                                                       });
                open != messages_.end() && !healed_)
                requeue(messages_.at(last_requeued_ = open->first));
        });
}

void World::command() {
    if (messages_.empty() || healed_) return;
    if (hand_dice_.chance(20)) {
        const Host& host = hosts_[hand_dice_.below(hosts_.size())];
        const Domain& domain = domains_[hand_dice_.below(domains_.size())];
        switch (hand_dice_.below(4)) {
        case 0: return force(q::Scope::everything, "");
        case 1: return force(q::Scope::link, host.name);
        case 2: return force(q::Scope::queue, domain.name);
        case 3: return force(q::Scope::pool, host.pool.empty() ? "nobody's" : host.pool);
        }
    }
    const auto at = std::next(messages_.begin(), static_cast<std::ptrdiff_t>(hand_dice_.below(messages_.size())));
    Message& m = at->second;
    if (m.gone || m.removed) return;
    switch (hand_dice_.below(8)) {
    case 0:
        hold(m);
        return later(hand_dice_.between(1, 200) * minute, [this, id = m.id] { release(messages_.at(id)); });
    case 1:
        hold(m);
        engine_->cancel(spool::QueueId{m.id}, now(), out_);
        return later(0, [this, id = m.id] { remove_by_hand(id); });
    case 2: return expire_by_hand(m);
    case 3: return change_life(m);
    case 4: return change_lane(m);
    case 5:
    case 6: return requeue(m);
    case 7: return force(m);
    }
}

void World::hold(Message& m) {
    if (m.held) return;
    say("hold " + spool::QueueId{m.id}.text());
    m.held = m.by_hand = true;
    if (!engine_->hold(spool::QueueId{m.id}, now(), out_)) wrong("a message could not be held");
}

// Held mail does not age.
void World::release(Message& m) {
    if (m.gone || !m.held || !m.by_hand || m.removed) return;
    say("release " + spool::QueueId{m.id}.text());
    m.held = m.by_hand = false;
    m.waited_until = time_;
    if (m.not_before <= time_ + wall_offset_) m.not_before = time_ + wall_offset_;
    if (!engine_->release(spool::QueueId{m.id}, now(), out_)) wrong("a message could not be released");
}

void World::release_all() {
    for (auto& [id, m] : messages_) {
        out_.clear();
        release(m);
        carry_out();
    }
    out_.clear();
}

// When nothing of it is in flight any more.
void World::remove_by_hand(std::uint64_t id) {
    Message& m = messages_.at(id);
    m.by_hand = m.removed = true;
    if (m.gone) return;
    if (std::ranges::any_of(m.recipients, &Recipient::in_flight))
        return later(second, [this, id] { remove_by_hand(id); });
    say("removed " + spool::QueueId{id}.text());
    if (!engine_->forget(spool::QueueId{id}, now(), out_)) return wrong("a message could not be removed");
    m.gone = true;
    m.gone_at = time_;
    if (engine_->message(spool::QueueId{id}, now())) wrong("a message was removed, and is still there");
}

// Nothing but what is in flight is left of it, and reports.
void World::expire_by_hand(Message& m) {
    say("expire " + spool::QueueId{m.id}.text());
    m.ended = true;
    m.held = m.by_hand = false;
    m.expiry = time_ + wall_offset_;
    m.not_before = std::min(m.not_before, m.expiry);
    const spool::QueueId id{m.id};
    if (!engine_->expire(id, now(), out_)) return wrong("a message could not be expired");
    const auto left = engine_->message(id, now());
    if (left && std::ranges::any_of(left->deliveries, [](const q::DeliveryInfo& each) {
            return each.waiting != q::Waiting::active && each.waiting != q::Waiting::report;
        }))
        wrong("a message was expired, and some of it still waits");
}

void World::change_life(Message& m) {
    if (m.ended) return;
    const auto life = std::chrono::minutes(hand_dice_.between(1, 600));
    say("another lifetime for " + spool::QueueId{m.id}.text());
    m.lifetime = smtp::Duration(life).count();
    if (!engine_->change_lifetime(spool::QueueId{m.id}, life, now(), out_)) wrong("a lifetime could not be changed");
}

void World::change_lane(Message& m) {
    const int lane = static_cast<int>(hand_dice_.below(3));
    if (lane == m.lane) return;
    m.lane = lane;
    const spool::QueueId id{m.id};
    if (!engine_->change_lane(id, static_cast<q::Lane>(lane), now(), out_)) return wrong("a lane could not be changed");
    if (const auto info = engine_->message(id, now()); info && info->lane != static_cast<q::Lane>(lane))
        wrong("a message is in another lane than it was put into");
}

void World::plan_times(std::int64_t span) {
    if (calm_ || life_ == Life::month || !time_dice_.chance(30)) return;
    for (auto n = time_dice_.between(1, 15); n > 0; --n)
        later(time_dice_.between(0, span), [this] {
            if (messages_.empty() || healed_) return;
            const auto which = static_cast<std::ptrdiff_t>(time_dice_.below(messages_.size()));
            if (Message& m = std::next(messages_.begin(), which)->second; !m.gone && !m.removed) reschedule(m);
        });
}

// All of it that waits, waits for the new time alone.
void World::reschedule(Message& m) {
    const spool::QueueId id{m.id};
    const auto before = engine_->message(id, now());
    if (!before) return;
    const std::int64_t wall = time_ + wall_offset_, at = wall + time_dice_.between(-10, 120) * minute;
    const bool waits = !before->active && std::ranges::any_of(before->deliveries, [](const q::DeliveryInfo& each) {
        return each.waiting != q::Waiting::report;
    });
    say("reschedule " + id.text());
    const bool done = engine_->reschedule(id, smtp::WallTime(smtp::Duration(at)), {}, now(), out_);
    if (done ? !waits : waits && at > wall) wrong("a message is moved to another time if, and only if, it waits");
    if (!done) return;
    m.not_before = at > wall ? at : std::min(m.not_before, wall);
    m.free_in_a_second = false;
    for (Recipient& r : m.recipients) r.not_before = 0;
    const auto after = engine_->message(id, now());
    if (at > wall && after && std::ranges::any_of(after->deliveries, [](const q::DeliveryInfo& each) {
            return each.waiting != q::Waiting::scheduled && each.waiting != q::Waiting::held &&
                   each.waiting != q::Waiting::report;
        }))
        wrong("a message was moved to a later time, and some of it does not wait for that");
}

// What waits begins again; what is in flight is left alone.
void World::requeue(Message& m) {
    const spool::QueueId id{m.id};
    const auto before = engine_->message(id, now());
    if (!before || std::ranges::any_of(before->deliveries, [](const q::DeliveryInfo& each) {
            return each.waiting == q::Waiting::categorizer;
        }))
        return;
    const bool waits = std::ranges::any_of(before->deliveries, [](const q::DeliveryInfo& each) {
        return each.waiting != q::Waiting::active && each.waiting != q::Waiting::report;
    });
    std::optional<q::RetryPolicy> policy;
    if (!settings_.policies.empty() && hand_dice_.chance(50))
        policy = settings_.policies[hand_dice_.below(settings_.policies.size())];
    say("requeue " + id.text() + (policy ? " by " + policy->name : ""));
    if (policy) {
        m.recorded = m.by_name = policy;
        m.policy = policy->name;
    }
    for (const auto& each : before->deliveries) {
        if (each.waiting == q::Waiting::active || each.waiting == q::Waiting::report) continue;
        for (std::size_t n = 0; n < m.recipients.size(); ++n) {
            Recipient& r = m.recipients[n];
            const bool its = each.recipients.empty() || std::ranges::count(each.recipients, n) > 0;
            if (!its || r.written != Written::open) continue;
            r.failures = r.message_failures = 0;
            r.problem = false;
            r.not_before = r.next_attempt = 0;
        }
    }
    m.waited_until = time_ - second; // tries are known by the second
    if (engine_->requeue(id, now(), out_, policy ? &*policy : nullptr) != waits)
        wrong("what waited was not asked about again");
}

// Not known exactly any more is what rests.
void World::forget_rests() {
    for (auto& [name, book] : queues_) {
        book.not_before = book.route_until = 0;
        book.announced = false;
    }
    for (Host& h : hosts_) {
        h.not_before = 0;
        h.last_open = -1;
        h.forced = time_;
        h.announced = false;
    }
}

void World::check_forced(const std::string& what,
                         const std::function<bool(const Message&, const q::DeliveryInfo&)>& covers) {
    for (const auto& [id, m] : messages_) {
        const auto info = m.gone ? std::nullopt : engine_->message(spool::QueueId{id}, now());
        if (!info) continue;
        for (const auto& each : info->deliveries)
            if (each.waiting == q::Waiting::own_time && !each.queue.empty() && covers(m, each))
                return wrong(what + " was forced, and " + spool::QueueId{id}.text() + " still waits for its time");
    }
}

void World::force(Message& m) {
    if (m.held) return;
    say("force " + spool::QueueId{m.id}.text());
    m.not_before = std::min(m.not_before, time_ + wall_offset_);
    for (Recipient& r : m.recipients) r.not_before = 0;
    forget_rests();
    if (!engine_->force(spool::QueueId{m.id}, now(), out_)) return wrong("a message could not be forced");
    check_forced("a message", [&](const Message& each, const q::DeliveryInfo&) { return each.id == m.id; });
}

void World::force(q::Scope scope, const std::string& name) {
    say("force " + (name.empty() ? "all" : name));
    for (auto& [id, m] : messages_)
        for (Recipient& r : m.recipients) r.not_before = 0;
    forget_rests();
    if (!engine_->force(scope, name, now(), out_)) return; // no mail for it
    check_forced(name, [&](const Message&, const q::DeliveryInfo& each) {
        return scope == q::Scope::everything || (scope == q::Scope::link && each.link == name) ||
               (scope == q::Scope::queue && each.queue == name);
    });
}

} // namespace sim
