// The driver's part: doing what the engine says, writing what the spool would keep.
#include "tests/sim/world.h"
#include <algorithm>
#include <ostream>
#include <utility>

namespace sim {

using namespace std::chrono_literals;

World::World(std::uint64_t seed, std::ostream* log, Life life)
    : dice_(q::Random(seed).number()), list_dice_(~seed), pool_dice_(seed ^ 0x706f6f6c), rule_dice_(seed ^ 0x72756c65),
      policy_dice_(seed ^ 0x706f6c69), hand_dice_(seed ^ 0x68616e64), time_dice_(seed ^ 0x74696d65),
      store_dice_(seed ^ 0x73746f72), lookup_dice_(seed ^ 0x6c6f6f6b), fleet_dice_(seed ^ 0x666c6565), seed_(seed),
      life_(life), log_(log) {
    wall_offset_ = 1'790'000'000 * second;
    time_ = 1000 * second;
    calm_ = dice_.chance(25) && life_ == Life::hours;
    make_settings();
    make_places();
    make_rules();
    make_policies();
    make_stores();
    make_pools();
    make_fleet();
    start_engine();
    if (life_ == Life::month)
        plan_month();
    else
        plan_traffic();
    if (!calm_) plan_trouble();
    plan_full(end_of_trouble_ - time_);
    later(end_of_trouble_ - time_, [] {});
}

smtp::Now World::now() const {
    return smtp::Now{smtp::Monotonic(smtp::Duration(time_)), smtp::WallTime(smtp::Duration(time_ + wall_offset_))};
}

void World::wrong(const std::string& what) {
    if (wrong_.empty())
        wrong_ = what + " (at " + std::to_string(time_ / second) + " s, step " + std::to_string(steps_) + ")";
    say("WRONG " + what);
}

void World::say(const std::string& what) {
    if (log_) *log_ << static_cast<double>(time_) / second << "  " << what << "\n";
}

void World::later(std::int64_t in, Event what) { plan_.push(Planned{time_ + in, ++planned_, std::move(what)}); }

std::string World::run() {
    while (wrong_.empty()) {
        const auto due = engine_->next_timer();
        const std::int64_t timer = due ? due->time_since_epoch().count() : INT64_MAX;
        const std::int64_t event = plan_.empty() ? INT64_MAX : plan_.top().at;
        const q::Counts counts = engine_->counts();
        if (healed_ && event == INT64_MAX && counts.messages == counts.held) break;
        const std::int64_t next = std::min(timer, event);
        if (next == INT64_MAX) {
            wrong("nothing is planned, yet messages wait");
            break;
        }
        if (next > time_) timers_in_a_row_ = 0;
        time_ = std::max(time_, next);
        ++steps_;
        out_.clear();
        if (event <= timer) {
            auto what = plan_.top().what;
            plan_.pop();
            what();
        } else {
            if (++timers_in_a_row_ > 5) wrong("the timer fires again and again at one instant");
            engine_->timer(now(), out_);
        }
        carry_out();
        check();
        if (!healed_ && time_ >= end_of_trouble_) heal();
        if (healed_ && time_ > end_of_trouble_ + 3 * 3600 * second) {
            std::string which;
            for (const auto& [id, m] : messages_)
                if (!m.gone && !m.held && m.not_before <= time_ + wall_offset_ && which.empty())
                    which = spool::QueueId{id}.text();
            if (!which.empty()) {
                const auto info = engine_->message(*spool::QueueId::parse(which), now());
                for (const auto& d : info->deliveries)
                    say("it waits: " + std::to_string(static_cast<int>(d.waiting)) + " in " + d.queue + " over " +
                        d.link);
            }
            if (!which.empty()) wrong("message " + which + " is still there three hours after all is well");
            break;
        }
        if (steps_ > (life_ == Life::month ? 50'000'000 : 2'000'000)) wrong("too many steps");
    }
    if (wrong_.empty() && life_ == Life::month) check_rest();
    return wrong_;
}

Message* World::message(spool::QueueId id) {
    const auto at = messages_.find(id.value);
    return at == messages_.end() ? nullptr : &at->second;
}

Recipient& World::recipient(spool::QueueId id, q::RecipientNumber number) {
    static Recipient nobody;
    Message* m = message(id);
    if (!m || m->gone || number >= m->recipients.size()) {
        wrong("an action names a recipient that is not there: " + id.text() + "/" + std::to_string(number));
        return nobody;
    }
    return m->recipients[number];
}

void World::carry_out() {
    // What is done may say more; the engine is only called from planned events, never from here.
    for (const q::Action& action : out_.list) std::visit([&](const auto& a) { does(a); }, action);
}

void World::does(const q::AskCategorizer& a) {
    const std::vector<q::RecipientNumber> asked(out_.of(a.numbers).begin(), out_.of(a.numbers).end());
    const std::uint64_t incarnation = incarnation_;
    later(dice_.between(100, 3000), [this, id = a.id, asked, incarnation, life = categorizers_] {
        if (incarnation != incarnation_ || life != categorizers_) return; // one that went answers nothing any more
        Message* m = message(id);
        if (!m || m->gone) return;
        if (!healed_ && !calm_ && dice_.chance(3)) {
            engine_->categorization_failed(id, {}, now(), out_);
            return;
        }
        std::vector<q::RecipientNumber> numbers = asked;
        if (numbers.empty())
            for (std::uint32_t n = 0; n < m->in_envelope; ++n) numbers.push_back(n);
        static const q::Reason unknown{"5.1.1", "unknown user", "", ""};
        static const q::Reason table{"4.3.0", "table not readable", "", ""};
        std::vector<q::FinalRecipient> finals;
        for (auto n : numbers) {
            if (m->recipients[n].written != Written::open && m->recipients[n].delivered == 0)
                return wrong("categorizer asked for a recipient that is done"); // but for a result repeated meanwhile
            if (!m->bad && m->recipients[n].written == Written::open && dice_.chance(5) && n < m->in_envelope &&
                m->recipients.size() < 40) { // an alias of two
                m->recipients[n].written = Written::replaced;
                for (int copy = 0; copy < 2; ++copy) {
                    Recipient r;
                    const Domain& home = domains_[dice_.below(domains_.size())];
                    r.domain = home.name;
                    m->recipients.push_back(r);
                    finals.push_back({static_cast<q::RecipientNumber>(m->recipients.size() - 1), q::Fate::remote,
                                      home.name, 0, nullptr,
                                      key_of(m->id, static_cast<q::RecipientNumber>(m->recipients.size() - 1))});
                }
                continue;
            }
            const Recipient& r = m->recipients[n];
            const auto home = std::ranges::find(domains_, r.domain, &Domain::name);
            q::FinalRecipient f{n, q::Fate::remote, home->name, 0, nullptr, key_of(m->id, n), list_dice_.chance(10)};
            if (r.local) f.fate = q::Fate::local, f.destination = r.user.empty() ? std::string_view("local") : r.user;
            if (r.discard) f.fate = q::Fate::discard;
            if (r.unknown || r.suppressed) f.fate = q::Fate::failed, f.reason = &unknown;
            if (!healed_ && !calm_ && dice_.chance(2)) f.fate = q::Fate::unknown, f.reason = &table;
            if (f.fate == q::Fate::discard) m->recipients[n].written = Written::discarded;
            finals.push_back(f);
        }
        engine_->categorized({id, finals}, now(), out_);
    });
}

void World::does(const q::AskRoute& a) {
    const std::string domain(a.domain), pool(a.pool), queue = pool.empty() ? domain : domain + "@" + pool;
    check_lookup(queue);
    const std::uint64_t incarnation = incarnation_;
    later(dice_.between(100, 50'000), [this, domain, pool, queue, incarnation] {
        if (incarnation != incarnation_) return;
        const Domain& d = domain_of(domain);
        static const q::Reason servfail{"4.4.3", "name server failure", "", ""};
        static const q::Reason nowhere{"5.1.2", "no such domain", "", ""};
        q::Routed r;
        r.domain = domain;
        r.pool = pool;
        r.valid = std::chrono::seconds(dice_.between(30, 3600));
        if (d.impossible) {
            r.kind = q::RouteKind::permanent;
            r.reason = &nowhere;
        } else if ((!healed_ && !calm_ && dice_.chance(10)) || d.unanswered) {
            r.kind = q::RouteKind::temporary;
            r.reason = &servfail;
        } else {
            const Host& best = host_of(d, pool.empty() ? d.pool : pool);
            r.kind = best.mx ? q::RouteKind::mx : q::RouteKind::configured;
            r.link = best.name;
            QueueBook& book = queues_[queue];
            r.rule = d.rule.empty() ? best.rule : d.rule;
            if (r.rule != book.rule) {
                book.rule_before = std::exchange(book.rule, r.rule);
                book.rule_since = time_;
            }
            r.connections = connections_by(r.rule);
        }
        looked_up(queue, r);
        engine_->routed(r, now(), out_);
    });
}

const Host& World::host_of(const Domain& d, std::string_view pool) const {
    const Host& first = hosts_[host_at(d.host, pool)];
    if (!first.down || !d.other) return first;
    const Host& other = hosts_[host_at(*d.other, pool)];
    return other.down ? first : other;
}

void World::does(const q::LinkState& a) {
    const auto h = std::ranges::find(hosts_, std::string(a.link), &Host::name);
    say("link " + h->name + (a.down ? " is down" : " is up"));
    if (h->mx) wrong("an MX link is marked down");
    // (Said again, to a router that is new, it may be.)
    if (a.down && !h->down && h->retry_since >= 0 && time_ - h->retry_since < 300 * second)
        wrong("a link is marked down before it was in retry for five minutes");
    h->down = a.down;
}

void World::does(const q::LinkForgotten& a) {
    const auto h = std::ranges::find(hosts_, std::string(a.link), &Host::name);
    if (h != hosts_.end()) h->failed_rule.clear();
}

void World::does(const q::RecordDeferral& a) {
    say("deferral " + a.id.text() + " failures=" + std::to_string(a.failures) + (a.problem ? " problem" : "") +
        " next in " + std::to_string((a.next_attempt - now().wall).count() / 1000) + " ms");
    for (auto n : out_.of(a.numbers)) {
        Recipient& r = recipient(a.id, n);
        // The ladder, rung by rung.
        const bool local = r.local && !message(a.id)->bad; // a message that its mailbox refuses climbs the ladder
        const auto wait = a.next_attempt - now().wall;
        const q::Ladder its = ladder(queues_[queue_of(*message(a.id), r)].rule);
        const q::RetryPolicy& policy = policy_of(*message(a.id));
        const bool own_clock = policy.kind != q::RetryPolicy::Kind::exchange;
        const smtp::Duration rung = local && !own_clock ? settings_.local_retry : q::wait_of(policy, its, a.failures);
        if (policy.counts() && a.failures >= policy.most()) wrong("a try is planned that its policy does not allow");
        if (r.last_try != time_ && r.came_back != time_) check_delayed(a, n);
        if (!a.problem && a.message_failures >= its.failures_before_problem)
            wrong("a problem message is not called one");
        if (a.problem && !r.problem && a.message_failures < its.failures_before_problem)
            wrong("a message is called a problem too early");
        const smtp::Duration most =
            std::chrono::duration_cast<smtp::Duration>(rung * (1.0 + (own_clock ? policy.jitter : settings_.jitter))) +
            1ms;
        if (wait < rung) wrong("a retry is planned before its rung");
        if (wait > most && message(a.id)->recipients.size() == 1) wrong("a retry is planned after its rung");
        if (a.failures != r.failures + 1) wrong("a failure was counted twice or not at all");
        r.failures = a.failures;
        r.message_failures = a.message_failures;
        r.problem = a.problem;
        r.suspect = false;
        r.next_attempt = a.next_attempt.time_since_epoch().count();
        r.not_before = time_ + wait.count();
    }
}

void World::does(const q::RecordOutcome& a) {
    say("outcome " + a.id.text() + " finish " + std::to_string(static_cast<int>(a.finish)));
    for (auto n : out_.of(a.numbers)) {
        Recipient& r = recipient(a.id, n);
        switch (a.finish) {
        case q::Finish::delivered: r.written = Written::delivered; break;
        case q::Finish::failed: r.written = Written::failed; break;
        case q::Finish::expired: r.written = Written::expired; break;
        case q::Finish::discarded: r.written = Written::discarded; break;
        }
        if (a.finish == q::Finish::delivered && r.delivered == 0) wrong("marked delivered, but it was not");
        if ((a.finish == q::Finish::failed || a.finish == q::Finish::expired) && !r.reported)
            wrong("marked failed before the sender was told");
    }
}

void World::does(const q::RecordSuspect& a) {
    for (auto n : out_.of(a.numbers)) {
        Recipient& r = recipient(a.id, n);
        r.suspect = true;
        r.deaths = a.deaths;
        // A message is deadly, not a recipient of it: those that travel together share what was counted.
        if (a.deaths > message(a.id)->alone_deaths) wrong("deaths counted that were not its own");
    }
}

void World::does(const q::RecordHeld& a) {
    say("held " + a.id.text());
    Message* m = message(a.id);
    if (m->alone_deaths < settings_.deaths_before_hold) wrong("held as poison too early");
    m->held = true;
}

void World::does(const q::RecordDelayNotice& a) {
    Message* m = message(a.id);
    if (!m->notice_asked) wrong("a notice of delay recorded that was never made");
    m->noticed = true;
}

void World::does(const q::RecordReported& a) {
    for (auto n : out_.of(a.numbers))
        if (recipient(a.id, n).written != Written::delivered) wrong("success was told of what is not delivered");
}

void World::does(const q::MakeReport& a) {
    Message* m = message(a.id);
    if (!m || m->gone) return wrong("a report about a message that is gone");
    if (a.kind == q::ReportKind::delayed) {
        if (m->null_sender) wrong("a notice of delay to nobody");
        if (m->noticed_before) wrong("a second notice of delay, after a restart");
        if (!set_back_ &&
            time_ + wall_offset_ < std::max(m->arrival, m->not_before) + settings_.delay_notice.count() - second)
            wrong("a notice of delay too early");
        m->notice_asked = true;
    }
    std::vector<q::RecipientNumber> numbers;
    for (const auto& each : a.recipients) {
        numbers.push_back(each.number);
        Recipient& r = recipient(a.id, each.number);
        const bool success = a.kind == q::ReportKind::delivered || a.kind == q::ReportKind::relayed;
        if (r.written != (success ? Written::delivered : Written::open))
            wrong("a report about recipient " + std::to_string(each.number) + " of " + a.id.text() + ", which is done");
        if (a.kind == q::ReportKind::failed && each.expired) check_expiry(*m, r);
        if (a.kind == q::ReportKind::delayed && r.noticed) wrong("a second notice of delay");
    }
    const std::uint64_t incarnation = incarnation_;
    later(dice_.between(500, 20'000), [this, id = a.id, kind = a.kind, numbers, request = a.request, incarnation] {
        Message* m = message(id);
        if (incarnation != incarnation_) return; // bounce never got it
        q::Reported r;
        r.request = request;
        if (!healed_ && dice_.chance(10)) {
            r.outcome = q::ReportOutcome::try_later;
        } else if (m && !m->gone && kind == q::ReportKind::failed) {
            for (auto n : numbers) m->recipients[n].reported = true;
        } else if (m && !m->gone && kind == q::ReportKind::delayed) {
            for (auto n : numbers) m->recipients[n].noticed = true;
        }
        engine_->reported(r, now(), out_);
    });
}

void World::does(const q::MoveToMessages& a) {
    Message* m = message(a.id);
    if (!m || m->gone) return wrong("a message moved that is gone");
    if (m->moved) wrong("a message moved twice");
    m->moved = true;
}

void World::does(const q::Remove& a) {
    say("remove " + a.id.text());
    Message* m = message(a.id);
    if (!m || m->gone) return wrong("a message removed twice");
    for (std::size_t n = 0; n < m->recipients.size(); ++n) {
        const Recipient& r = m->recipients[n];
        const bool fine =
            r.delivered > 0 || r.reported || r.written == Written::discarded || r.written == Written::replaced;
        if (!fine) wrong("message " + a.id.text() + " removed, recipient " + std::to_string(n) + " not accounted for");
    }
    m->gone = true;
    m->gone_at = time_;
}

void World::does(const q::NoticeExpired& a) {
    say("expired " + a.id.text());
    Message* m = message(a.id);
    if (!m) return;
    m->expired = time_;
    if (m->held) wrong("held mail expires");
}

void World::does(const q::NoticeLink& a) {
    say("link " + std::string(a.link) + " health " + std::to_string(static_cast<int>(a.health)) + " failures " +
        std::to_string(a.failures));
    const auto h = std::ranges::find(hosts_, std::string(a.link), &Host::name);
    if (h == hosts_.end()) return;
    const bool was_retry = h->health == q::Health::retry;
    if (h->health == q::Health::ready && a.health != q::Health::ready) rest_began_ = time_;
    h->health = a.health;
    h->opened_since = 0;
    if (a.health != q::Health::ready) h->failed_rule = failed_rule_;
    const q::Ladder rungs = ladder(h->failed_rule);
    if (a.health == q::Health::ready)
        h->retry_since =
            -1; // (by the ladder of another queue it may be called a glitch again, and is as bad as before)
    else if (a.health == q::Health::retry && h->retry_since < 0 && !was_retry &&
             (h->announced || a.failures == rungs.glitch_count))
        h->retry_since = time_; // else it was so before a restart
    h->announced = true;
    h->not_before = a.health == q::Health::ready ? 0 : a.next_attempt.time_since_epoch().count() - wall_offset_;
    if (a.health == q::Health::ready) return;
    h->last_failure = time_;
    check_rung(a.next_attempt - now().wall, q::rung(rungs, a.failures), "a link");
}

void World::does(const q::NoticeQueue& a) {
    QueueBook& book = queues_[std::string(a.queue)];
    const bool of_domain =
        a.reason && a.reason->status == "4.7.5"; // what its policy demands, else one message's failure
    const bool of_all = a.health == q::Health::retry || (a.health == q::Health::glitch && of_domain);
    if (of_all) book.last_failure = time_;
    const std::int64_t next =
        a.health == q::Health::ready ? 0 : a.next_attempt.time_since_epoch().count() - wall_offset_;
    auto& until = a.event == 4000 ? book.route_until : book.not_before;
    if (until <= time_ && next > time_) rest_began_ = time_;
    until = next;
    book.announced = book.announced || a.event != 4000;
    const auto d = std::ranges::find(domains_, a.queue.substr(0, a.queue.find('@')), &Domain::name);
    if (d != domains_.end() && a.health != q::Health::ready)
        // A try of the link that ended so said nothing about the link: the next may come at once.
        for (std::size_t h = 0; h < hosts_.size(); ++h)
            if (hosts_[h].machine == d->host || hosts_[h].machine == d->other) hosts_[h].last_open = -1;
    if (a.health != q::Health::ready)
        check_rung(a.next_attempt - now().wall,
                   a.event == 4000 ? q::doubling(settings_.routing_retry, settings_.routing_retry_max, a.failures)
                                   : q::rung(ladder(book.rule), a.failures),
                   "a queue");
    say("queue " + std::string(a.queue) + " health " + std::to_string(static_cast<int>(a.health)) + " failures " +
        std::to_string(a.failures));
}

} // namespace sim
