// How a world is made from its seed, what goes wrong in it, and how it is mended in the end.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

using namespace std::chrono_literals;

void World::make_settings() {
    exact_ = dice_.chance(50);
    if (exact_) settings_.jitter = 0;
    if (dice_.chance(30)) settings_.connections_total = static_cast<std::uint32_t>(dice_.between(3, 20));
    if (dice_.chance(30)) settings_.messages_per_connection = static_cast<std::uint32_t>(dice_.between(1, 5));
    if (dice_.chance(20)) settings_.max_pending_categorizations = 2;
    if (dice_.chance(20)) settings_.recipients_per_transaction = 2;
    if (dice_.chance(30)) {
        settings_.expiry = std::chrono::hours(dice_.between(1, 6));
        settings_.report_expiry = std::chrono::hours(1);
    }
    if (dice_.chance(30)) settings_.delay_notice = std::chrono::minutes(dice_.between(10, 120));
    if (dice_.chance(20)) settings_.connections_mx = 2;
    if (!calm_ && dice_.chance(50)) settings_.connections_per_address = static_cast<std::uint32_t>(dice_.between(1, 4));
}

void World::make_places() {
    const bool month = life_ == Life::month;
    const auto hosts = month ? dice_.between(10, 40) : dice_.between(1, 5);
    for (int n = 0; n < hosts; ++n) {
        Host h;
        h.name = "link" + std::to_string(n);
        h.mx = dice_.chance(50);
        if (!calm_ && !h.mx && dice_.chance(30)) {
            const auto rate = static_cast<std::uint32_t>(dice_.between(1, 20));
            h.rule = "rule" + std::to_string(n);
            settings_.routes[h.rule].messages_per_second = rate;
        }
        if (!calm_ && h.mx && dice_.chance(60)) h.address = "192.0.2.1:25";
        h.machine = machines_++;
        hosts_.push_back(h);
    }
    const auto domains = month ? dice_.between(50, 300) : dice_.between(1, 8);
    for (int n = 0; n < domains; ++n) {
        Domain d;
        d.name = "d" + std::to_string(n) + ".example";
        d.host = dice_.below(hosts_.size());
        if (const auto other = dice_.below(hosts_.size());
            other != d.host && !hosts_[d.host].mx && !hosts_[other].mx && dice_.chance(70))
            d.other = other;
        d.impossible = !calm_ && dice_.chance(8);
        domains_.push_back(d);
    }
}

void World::start_engine(const std::vector<q::HealthSnapshot>& remembered) {
    ++incarnation_;
    out_.clear();
    engine_ = std::make_unique<q::Engine>(settings_, dice_.number(), now());
    engine_->restore(remembered, now(), out_);
    if (paused_) engine_->pause(q::Scope::everything, "", now(), out_);
    for (const std::string& name : paused_links_) engine_->pause(q::Scope::link, name, now(), out_);
    for (const std::string& name : paused_queues_) engine_->pause(q::Scope::queue, name, now(), out_);
    for (const std::string& name : paused_pools_) engine_->pause(q::Scope::pool, name, now(), out_);
    introduce_fleet();
    const auto workers = dice_.between(1, 3);
    for (int n = 0; n < workers; ++n)
        later(dice_.between(0, 1000), [this, i = incarnation_] {
            if (i == incarnation_) attach_agent(q::AgentKind::smtp);
        });
    later(dice_.between(0, 1000), [this, i = incarnation_] {
        if (i == incarnation_) attach_agent(q::AgentKind::local);
    });
}

void World::attach_agent(q::AgentKind kind) {
    if (agents_.size() > 6) return;
    const q::AgentId id = ++last_agent_;
    agents_.emplace(id, kind);
    engine_->agent_attached(id, kind, 500, now(), out_);
}

// To the engine, as new or as found in the spool.
void World::offer(Message& m) {
    q::Accepted a;
    a.id = spool::QueueId{m.id};
    a.location = m.moved ? spool::Location::messages : spool::Location::incoming;
    a.size = 1000;
    a.arrival = smtp::WallTime(smtp::Duration(m.arrival));
    a.not_before = smtp::WallTime(smtp::Duration(m.not_before));
    a.sender = m.null_sender ? q::Sender::null : q::Sender::ordinary;
    a.lane = static_cast<q::Lane>(m.lane);
    a.submitter = m.submitter;
    a.pool = m.pool;
    a.retry_policy = m.policy;
    a.lifetime = smtp::Duration(m.lifetime);
    if (m.ended) a.expiry = smtp::WallTime(smtp::Duration(m.expiry));
    a.policy = m.recorded ? &*m.recorded : nullptr;
    a.held = m.held;
    a.delay_notice_sent = m.noticed_before = m.noticed;
    std::vector<q::RecipientNumber> open;
    std::vector<q::RestoredRecipient> restored;
    for (std::size_t n = 0; n < m.recipients.size(); ++n) {
        const Recipient& r = m.recipients[n];
        if (r.written != Written::open) continue;
        open.push_back(static_cast<q::RecipientNumber>(n));
        if (r.failures == 0 && !r.suspect && r.deaths == 0) continue;
        restored.push_back({static_cast<q::RecipientNumber>(n), r.failures, r.message_failures, r.deaths, r.suspect,
                            r.problem, smtp::WallTime(smtp::Duration(r.next_attempt))});
    }
    const bool fresh = open.size() == m.in_envelope && m.recipients.size() == m.in_envelope;
    if (!fresh) a.open = open;
    a.recipients = fresh ? m.in_envelope : 0;
    a.restored = restored;
    engine_->accepted(a, now(), out_);
}

void World::arrive() {
    Message m;
    m.id = (last_id_ += 256 * 16) + 1;
    m.arrival = time_ + wall_offset_;
    m.accepted = time_;
    if (!calm_ && dice_.chance(5)) m.not_before = m.arrival + dice_.between(1, 120) * minute;
    m.null_sender = dice_.chance(10);
    m.lane = static_cast<int>(dice_.below(3));
    m.submitter = "u" + std::to_string(dice_.below(3));
    if (!pools_.empty() && pool_dice_.chance(50)) m.pool = pools_[pool_dice_.below(pools_.size())];
    const std::string first = some_domain().name;
    const std::uint64_t count = dice_.chance(80) ? 1 : 1 + dice_.below(6);
    for (std::uint64_t n = 0; n < count; ++n) {
        Recipient r;
        r.domain = dice_.chance(60) ? first : some_domain().name;
        r.local = dice_.chance(10);
        r.discard = dice_.chance(3);
        r.unknown = dice_.chance(3);
        r.rejected = dice_.chance(5);
        choose_mailbox(r);
        m.recipients.push_back(r);
    }
    m.in_envelope = static_cast<std::uint32_t>(count);
    name_policy(m);
    if (!calm_ && !healed_) {
        m.bad = dice_.chance(8);
        m.deadly = dice_.chance(1) && life_ == Life::hours; // what is held stays
    }
    if (calm_ && !healed_) { // one bad message per domain, the rest must not suffer
        const auto had = [&](const Recipient& r) { return &domain_of(r.domain); };
        m.bad =
            dice_.chance(20) && std::ranges::none_of(m.recipients, [&](const Recipient& r) { return had(r)->had_bad; });
        if (m.bad)
            for (const Recipient& r : m.recipients) had(r)->had_bad = true;
    }
    const std::uint64_t id = m.id;
    say("accepted " + spool::QueueId{id}.text() + (m.bad ? " bad" : "") + (m.deadly ? " deadly" : "") + " for " +
        m.recipients.front().domain);
    offer(messages_.emplace(id, std::move(m)).first->second);
}

// In a month, those of the day.
const Domain& World::some_domain() {
    if (life_ == Life::hours) return domains_[dice_.below(domains_.size())];
    constexpr std::size_t at_a_time = 10;
    const auto today = static_cast<std::size_t>(time_ / (24 * hour));
    return domains_[(today * at_a_time + dice_.below(at_a_time)) % domains_.size()];
}

void World::plan_month() {
    constexpr int days = 30;
    for (int day = 0; day < days; ++day)
        for (auto bursts = dice_.between(1, 4); bursts > 0; --bursts) {
            const std::int64_t at = (day * 24 + dice_.between(0, 23)) * hour;
            for (auto size = dice_.between(1, dice_.chance(10) ? 60 : 12); size > 0; --size)
                later(at + dice_.between(0, 10 * minute), [this] { arrive(); });
        }
    end_of_trouble_ = time_ + days * 24 * hour;
    for (int more = 0; more < 8; ++more) plan_trouble_of_processes(days * 24 * hour);
}

void World::plan_traffic() {
    const std::int64_t span = dice_.between(1, 8) * hour;
    const auto bursts = dice_.between(1, 6);
    for (int n = 0; n < bursts; ++n) {
        const std::int64_t at = dice_.between(0, span);
        const auto size = dice_.between(1, dice_.chance(20) ? 60 : 12);
        for (int each = 0; each < size; ++each)
            later(at + dice_.between(0, dice_.chance(50) ? second : 10 * minute), [this] { arrive(); });
    }
    end_of_trouble_ = time_ + span + dice_.between(0, 12) * hour;
}

void World::plan_trouble() {
    const std::int64_t span = end_of_trouble_ - time_;
    for (std::size_t h = 0; h < machines_; ++h) {
        std::int64_t at = 0;
        while (at < span) {
            const auto mood = static_cast<Mood>(dice_.below(moods));
            later(at, [this, h, mood] {
                if (healed_) return;
                hosts_[h].mood = mood;
                hosts_[h].takes = static_cast<std::uint32_t>(dice_.between(0, 5));
            });
            at += dice_.between(1, dice_.chance(30) ? 300 : 30) * (life_ == Life::month ? 10 : 1) * minute;
        }
    }
    for (std::size_t d = 0; d < domains_.size(); ++d) {
        if (!dice_.chance(15)) continue;
        const std::int64_t at = dice_.between(0, span);
        later(at, [this, d] { domains_[d].untrusted = !healed_; });
        later(at + dice_.between(1, 300) * minute, [this, d] { domains_[d].untrusted = false; });
    }
    plan_trouble_of_processes(span);
    plan_suppressions(span);
    plan_pauses(span);
    plan_reloads(span);
    plan_hand(span);
    plan_times(span);
    plan_lookups(span);
    plan_fleet(span);
}

void World::plan_trouble_of_processes(std::int64_t span) {
    for (auto n = dice_.between(0, 6); n > 0; --n) {
        const std::int64_t at = dice_.between(0, span);
        switch (dice_.below(7)) {
        case 0:
        case 1: later(at, [this, cut = dice_.chance(40)] { restart(cut); }); break;
        case 2: later(at, [this, crash = dice_.chance(50)] { agent_dies(crash); }); break;
        case 3:
            later(at, [this] {
                if (paused_ || healed_) return;
                paused_ = true;
                say("pause all");
                engine_->pause(q::Scope::everything, "", now(), out_);
            });
            later(at + dice_.between(1, 240) * minute, [this] {
                if (!paused_) return;
                paused_ = false;
                waited_until_ = time_;
                say("resume all");
                engine_->resume(q::Scope::everything, "", now(), out_);
            });
            break;
        case 4: {
            const std::string link = hosts_[dice_.below(machines_)].name;
            later(at, [this, link] {
                if (healed_) return;
                paused_links_.insert(link);
                engine_->pause(q::Scope::link, link, now(), out_);
            });
            later(at + dice_.between(1, 240) * minute, [this, link] {
                if (paused_links_.erase(link) == 0) return;
                std::ranges::find(hosts_, link, &Host::name)->waited_until = time_;
                engine_->resume(q::Scope::link, link, now(), out_);
            });
            break;
        }
        case 5:
            later(at, [this, by = dice_.chance(50) ? dice_.between(-200, -1) * hour : dice_.between(1, 9000) * hour] {
                say("the clock jumps by " + std::to_string(by / hour) + " h");
                for (auto& [id, m] : messages_) { // what was free once stays free; the engine counts whole seconds
                    if (m.not_before <= time_ + wall_offset_)
                        m.not_before = 0;
                    else
                        m.free_in_a_second = m.free_in_a_second || m.not_before <= time_ + wall_offset_ + second;
                }
                wall_offset_ += by;
                set_back_ = set_back_ || by < 0;
                if (by > 0) waited_until_ = time_;
                for (auto& [id, m] : messages_) { // what the books hold in wall time moves along
                    if (by < 0) m.arrival = std::min(m.arrival, time_ + wall_offset_);
                }
                engine_->timer(now(), out_);
            });
            break;
        case 6: {
            const auto which = static_cast<q::Service>(dice_.below(3));
            later(at, [this, which] {
                if (which == q::Service::categorizer) ++categorizers_;
                engine_->service(which, q::Presence::down, now(), out_);
            });
            later(at + dice_.between(1, 3000) * second,
                  [this, which] { engine_->service(which, q::Presence::up, now(), out_); });
            break;
        }
        }
    }
}

// The queue-manager ends here and begins again from what the spool holds. A power cut may undo what was not
// synced: deferrals, delivered marks, removals.
void World::restart(bool power_cut) {
    say(power_cut ? "power cut" : "restart");
    struct Repeat {
        spool::QueueId id;
        std::vector<q::Result> results;
    };
    std::vector<Repeat> repeats;
    const auto remembered = power_cut ? std::vector<q::HealthSnapshot>{} : engine_->health_snapshot();
    for (auto& [id, c] : connections_) {
        const bool keeps = !power_cut && dice_.chance(50);
        bool front = true;
        for (const Delivery& d : c.deliveries) {
            Message* m = message(d.id);
            Repeat repeat{d.id, {}};
            for (auto n : d.numbers) {
                Recipient& r = m->recipients[n];
                r.in_flight = false;
                if (!keeps || !front || !c.busy || m->deadly) continue;
                if (r.first_try < 0) r.first_try = time_;
                q::Result result = verdict(c, r, *m, nullptr);
                result.number = n;
                if (result.outcome == q::Outcome::delivered) ++r.delivered;
                repeat.results.push_back(result);
            }
            front = false;
            if (!repeat.results.empty()) repeats.push_back(std::move(repeat));
        }
    }
    connections_.clear();
    agents_.clear();
    open_ = 0;
    for (Host& h : hosts_) {
        h.open = 0;
        h.health = q::Health::ready;
        h.down = false;
        h.retry_since = h.last_open = -1;
        h.next_moment = h.next_connection = -second;
        h.announced = false;
        h.failed_rule.clear();
        h.stuck_since = -1;
    }
    for (auto& [name, book] : queues_) {
        book.not_before = book.route_until = 0;
        book.announced = book.routed = false;
        book.lookups_failed = power_cut || book.lookups_failed == 0 ? 0 : -1;
    }
    time_ += dice_.between(1, 20) * second;
    waited_until_ = time_;
    if (power_cut) {
        for (auto& [id, m] : messages_) {
            if (m.removed) continue; // that is durable
            if (!m.gone && dice_.chance(80)) continue;
            if (m.gone && (time_ + wall_offset_ - m.arrival > 60 * second || dice_.chance(70))) continue;
            m.gone = false;
            for (Recipient& r : m.recipients) {
                if (r.written == Written::delivered && dice_.chance(50)) r.written = Written::open;
                if (r.written == Written::open && dice_.chance(30))
                    r.failures = r.message_failures = 0, r.next_attempt = 0, r.problem = false;
            }
        }
    }
    start_engine(remembered);
    for (auto& [id, m] : messages_) {
        if (m.gone) continue;
        for (Recipient& r : m.recipients) r.not_before = 0;
        offer(m);
    }
    for (const Repeat& each : repeats)
        later(dice_.between(0, 10'000), [this, each, i = incarnation_] {
            if (i != incarnation_) return;
            q::Done done;
            done.id = each.id;
            done.results = each.results;
            engine_->done(done, now(), out_);
        });
}

// What an agent had in flight when it went is its no more.
q::AgentKind World::lose(q::AgentId agent, bool crash) {
    std::size_t in_flight = 0;
    for (const auto& [id, c] : connections_)
        if (c.agent == agent) in_flight += c.deliveries.size();
    for (auto each = connections_.begin(); each != connections_.end();) {
        if (each->second.agent != agent) {
            ++each;
            continue;
        }
        for (const Delivery& d : each->second.deliveries) {
            if (crash && in_flight == 1) ++message(d.id)->alone_deaths;
            for (auto n : d.numbers) {
                Recipient& r = recipient(d.id, n);
                r.in_flight = false;
                if (crash) r.last_try = time_;
            }
        }
        if (!each->second.local) {
            Host& host = hosts_[each->second.host];
            if (each->second.up) --host.open;
            host.last_open = -1; // a probe that we broke off ourselves is made again at once
        }
        --open_;
        each = connections_.erase(each);
    }
    const auto kind = agents_[agent];
    agents_.erase(agent);
    return kind;
}

void World::agent_dies(bool crash) {
    if (agents_.empty()) return;
    auto at = agents_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(dice_.below(agents_.size())));
    say(crash ? "an agent crashes" : "an agent is stopped");
    const auto agent = at->first;
    const auto kind = lose(agent, crash);
    engine_->agent_gone(agent, crash ? q::AgentExit::crashed : q::AgentExit::orderly, now(), out_);
    later(dice_.between(10'000, 5 * second), [this, kind, i = incarnation_] {
        if (i == incarnation_) attach_agent(kind);
    });
}

// From now on all is well: everything that is not held must be gone in a while.
void World::heal() {
    healed_ = true;
    say("all is well");
    list_unreadable_ = false;
    out_.clear();
    for (Host& h : hosts_) h.mood = Mood::well;
    for (Domain& d : domains_) d.untrusted = d.unanswered = false;
    full_.clear();
    for (auto& [id, m] : messages_) m.bad = m.deadly = false;
    if (paused_ && engine_->resume(q::Scope::everything, "", now(), out_)) {
        paused_ = false;
        waited_until_ = time_;
    }
    for (const std::string& link : paused_links_) {
        engine_->resume(q::Scope::link, link, now(), out_);
        std::ranges::find(hosts_, link, &Host::name)->waited_until = time_;
    }
    paused_links_.clear();
    carry_out();
    resume_all();
    release_all();
    for (const auto which : {q::Service::categorizer, q::Service::router, q::Service::bounce})
        engine_->service(which, q::Presence::up, now(), out_);
    carry_out();
}

} // namespace sim
