// The other side: what hosts answer, and how agents tell it.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

namespace {
const q::Reason refused{"4.4.1", "connection refused", "", ""};
const q::Reason busy{"4.7.0", "too many connections", "421 4.7.0 too many connections", "mx"};
const q::Reason full{"4.2.2", "mailbox full", "452 4.2.2 mailbox full", "store"};
const q::Reason grey{"4.7.1", "greylisted", "450 4.7.1 come back", "mx"};
const q::Reason later_please{"4.3.0", "try later", "451 4.3.0 try later", "mx"};
const q::Reason no_such_user{"5.1.1", "no such user", "550 5.1.1 no such user", "mx"};
const q::Reason closing{"4.3.2", "shutting down", "421 4.3.2 shutting down", "mx"};
const q::Reason untrusted{"4.7.5", "the certificate is for another name", "", "mx"};
const q::Reason dropped{"4.4.2", "connection lost", "", "mx"};
} // namespace

void World::does(const q::OpenConnection& a) {
    if (!agents_.contains(a.agent)) return wrong("a connection for an agent that is gone");
    if (connections_.contains(a.connection)) return wrong("a connection's number used twice");
    Connection c;
    c.agent = a.agent;
    c.incarnation = incarnation_;
    c.local = a.link.starts_with("store:");
    if (++open_ > settings_.connections_total) wrong("more connections than allowed in all");
    if (c.local) {
        connections_.emplace(a.connection, c);
        later(dice_.between(50, 500), [this, id = a.connection] { came_up(id); });
        return;
    }
    const auto h = std::ranges::find(hosts_, std::string(a.link), &Host::name);
    if (h == hosts_.end()) return wrong("a connection to nowhere");
    c.host = static_cast<std::size_t>(h - hosts_.begin());
    if (paused_ || paused_links_.contains(h->name) || paused_pools_.contains(h->pool))
        wrong("a connection opened though paused");
    if (h->health != q::Health::ready) {
        if (time_ < h->not_before)
            wrong("a link in retry was tried too early, by " + std::to_string(h->not_before - time_) + " us");
        // (The second of two good probes has its time, whatever was forced in between.)
        if (h->down && h->last_open >= 0 && time_ - h->forced > settings_.link_up_after.count() &&
            time_ - h->last_open < ladder(h->failed_rule).glitch_interval.count() - second)
            wrong("a link that is down is probed too often");
        if (++h->opened_since > 1 && agents_.size() > 0 && calm_ && !h->down)
            wrong("more than one try of a link in retry");
    }
    if (a.domain.empty()) {
        c.rule = h->failed_rule;
    } else {
        const auto own = queues_.find(a.domain), pools = queues_.find(std::string(a.domain) + "@" + h->pool);
        c.rule = own != queues_.end() && !own->second.rule.empty() ? own->second.rule
                 : pools != queues_.end()                          ? pools->second.rule
                                                                   : "";
    }
    check_connection_rate(*h);
    connections_.emplace(a.connection, c);
    check_limit(*h, c.host);
    h->last_open = time_;
    say("open " + h->name + " mood " + std::to_string(static_cast<int>(hosts_[h->machine].mood)));
    later(h->address.empty() ? 0 : dice_.between(0, 200'000), [this, id = a.connection, i = incarnation_] {
        if (i == incarnation_) approach(id); // the next one's numbers begin anew
    });
}

// The agent has found the address.
void World::approach(std::uint64_t id) {
    const auto at = connections_.find(id);
    if (at == connections_.end()) return;
    Connection& c = at->second;
    Host& h = hosts_[c.host];
    if (!h.address.empty()) {
        if (!engine_->may_connect(id, h.address, q::AddressRequest::replace, now(), out_)) {
            say("no room for " + h.name);
            if (h.opened_since > 0) --h.opened_since; // nobody was tried
            return end_connection(id, false, false, false, true);
        }
        c.admitted = true;
        std::uint32_t there = 0;
        for (const auto& [other, each] : connections_)
            there += each.admitted && each.incarnation == incarnation_ && hosts_[each.host].address == h.address;
        if (there > settings_.connections_per_address) wrong("an address over its limit");
        if (dice_.chance(40)) race(id);
    }
    switch (hosts_[h.machine].mood) {
    case Mood::refuses: later(dice_.between(200, 2000), [this, id] { connect_failed(id, false, false); }); break;
    case Mood::vanished: later(30 * second, [this, id] { connect_failed(id, false, false); }); break;
    default: later(dice_.between(500, 50'000), [this, id] { came_up(id); });
    }
}

// A second address of the host is tried beside the first; soon one of the two has lost.
void World::race(std::uint64_t id) {
    static constexpr auto second_address = "198.51.100.1:25";
    Connection& c = connections_.at(id);
    c.racing = engine_->may_connect(id, second_address, q::AddressRequest::add, now(), out_);
    if (!c.racing) return;
    const auto racing = std::ranges::count_if(
        connections_, [&](const auto& each) { return each.second.racing && each.second.incarnation == incarnation_; });
    if (racing > settings_.connections_per_address) wrong("an address that races over its limit");
    later(dice_.between(0, 3'000'000), [this, id, incarnation = incarnation_, first = dice_.chance(50)] {
        const auto at = connections_.find(id);
        if (incarnation != incarnation_ || at == connections_.end()) return;
        (first ? at->second.admitted : at->second.racing) = false;
        engine_->left_address(id, first ? hosts_[at->second.host].address : second_address, now(), out_);
    });
}

void World::came_up(std::uint64_t id) {
    const auto at = connections_.find(id);
    if (at == connections_.end() || at->second.incarnation != incarnation_) return;
    Connection& c = at->second;
    if (!c.local) {
        Host& h = hosts_[c.host];
        const Host& machine = hosts_[h.machine];
        if (machine.mood == Mood::pushes_back && h.open >= machine.takes) {
            connect_failed(id, true, false);
            return;
        }
        ++h.open;
    }
    c.up = true;
    c.moved = time_;
    engine_->connected(id, now(), out_);
    work(id);
}

void World::connect_failed(std::uint64_t id, bool push_back, bool was_up) {
    const auto at = connections_.find(id);
    if (at == connections_.end() || at->second.incarnation != incarnation_) return;
    end_connection(id, true, was_up, push_back);
}

void World::end_connection(std::uint64_t id, bool failed, bool was_up, bool push_back, bool crowded) {
    const auto at = connections_.find(id);
    Connection& c = at->second;
    for (const Delivery& d : c.deliveries)
        for (auto n : d.numbers) {
            recipient(d.id, n).in_flight = false;
            recipient(d.id, n).came_back = time_;
        }
    if (c.up && !c.local) --hosts_[c.host].open;
    failed_rule_ = c.rule;
    connections_.erase(at);
    --open_;
    q::Closed event;
    event.connection = id;
    event.failed = failed;
    event.was_up = was_up;
    event.phase = was_up ? q::Phase::session : q::Phase::connecting;
    event.push_back = push_back ? q::PushBack::yes : q::PushBack::no;
    event.reason = failed ? (push_back ? &busy : &refused) : nullptr;
    event.at_address_limit = crowded;
    engine_->closed(event, now(), out_);
}

void World::does(const q::Deliver& a) {
    const auto at = connections_.find(a.connection);
    if (at == connections_.end()) return wrong("a delivery for a connection that is gone");
    Connection& c = at->second;
    check_start(a, c);
    check_probe(a, c);
    if (++c.handed > settings_.messages_per_connection) wrong("too many messages for one connection");
    if (c.deliveries.size() >= (c.up ? settings_.batch : 1)) wrong("too many deliveries ahead");
    if (c.closing) wrong("a delivery for a connection that is to close");
    if (!c.local) check_rate(hosts_[c.host]);
    Delivery d{a.delivery, a.id, {out_.of(a.numbers).begin(), out_.of(a.numbers).end()}};
    for (auto n : d.numbers) recipient(a.id, n).in_flight = true;
    say("deliver " + a.id.text() + " over " + (c.local ? "local" : hosts_[c.host].name));
    if (c.deliveries.empty()) c.moved = time_;
    c.deliveries.push_back(std::move(d));
    later(0, [this, id = a.connection] { work(id); });
}

void World::does(const q::CloseConnection& a) {
    const auto at = connections_.find(a.connection);
    if (at == connections_.end()) return wrong("a connection closed that is gone");
    at->second.closing = true;
    later(dice_.between(100, 5000), [this, id = a.connection, incarnation = incarnation_] {
        if (incarnation == incarnation_ && connections_.contains(id)) end_connection(id, false, true, false);
    });
}

// Those that are not begun: the second one's commands follow the first one's content.
void World::does(const q::Recall& a) {
    if (!connections_.contains(a.connection)) return wrong("a recall from a connection that is gone");
    later(dice_.between(100, 5000), [this, id = a.connection, incarnation = incarnation_] {
        const auto at = connections_.find(id);
        if (incarnation != incarnation_ || at == connections_.end()) return;
        const std::size_t begun = std::min<std::size_t>(at->second.deliveries.size(), dice_.chance(50) ? 2 : 1);
        give_back(id, begun, at->second.deliveries.size() - begun);
    });
}

// In time, or when all of the content has been sent.
void World::does(const q::CancelDelivery& a) {
    later(dice_.between(100, 5000), [this, id = a.connection, delivery = a.delivery, incarnation = incarnation_] {
        const auto at = connections_.find(id);
        if (incarnation != incarnation_ || at == connections_.end()) return;
        const auto which = std::ranges::find(at->second.deliveries, delivery, &Delivery::delivery);
        const auto place = static_cast<std::size_t>(which - at->second.deliveries.begin());
        if (which == at->second.deliveries.end() || (place == 0 && dice_.chance(50))) return;
        give_back(id, place, 1);
        if (place == 0) // what is handed to it meanwhile comes back with it
            later(0, [this, id, incarnation] {
                if (incarnation == incarnation_ && connections_.contains(id)) end_connection(id, false, true, false);
            });
    });
}

void World::give_back(std::uint64_t id, std::size_t from, std::size_t count) {
    Connection& c = connections_.at(id);
    std::vector<q::DeliveryId> back;
    for (std::size_t n = 0; n < count; ++n) {
        const Delivery d = c.deliveries[from];
        c.deliveries.erase(c.deliveries.begin() + static_cast<std::ptrdiff_t>(from));
        back.push_back(d.delivery);
        --c.handed;
        for (auto number : d.numbers) {
            recipient(d.id, number).in_flight = false;
            recipient(d.id, number).came_back = time_;
        }
    }
    say("given back: " + std::to_string(count));
    engine_->returned({id, back}, now(), out_);
}

std::int64_t World::pace(const Host& host) {
    if (hosts_[host.machine].mood == Mood::slow) return dice_.between(second, 20 * second);
    return dice_.between(200, 100'000);
}

void World::work(std::uint64_t id) {
    const auto at = connections_.find(id);
    if (at == connections_.end()) return;
    Connection& c = at->second;
    if (!c.up || c.busy || c.deliveries.empty() || c.incarnation != incarnation_) return;
    const Message* m = message(c.deliveries.front().id);
    if (m && m->deadly) {
        c.busy = true;
        later(2000, [this, agent = c.agent, incarnation = incarnation_] {
            if (incarnation != incarnation_ || !agents_.contains(agent)) return;
            // Died of the message; what else it had in flight is innocent.
            const auto kind = lose(agent, true);
            say("an agent crashed");
            engine_->agent_gone(agent, q::AgentExit::crashed, now(), out_);
            later(second, [this, kind] { attach_agent(kind); });
        });
        return;
    }
    c.busy = true;
    later(c.local ? dice_.between(100, 5000) : pace(hosts_[c.host]), [this, id, incarnation = incarnation_] {
        if (incarnation == incarnation_ && connections_.contains(id)) answer(id);
    });
}

Mood World::mood_of(const Connection& c) const { return c.local ? Mood::well : hosts_[hosts_[c.host].machine].mood; }

q::Result World::verdict(const Connection& c, Recipient& r, const Message& m, const q::Reason* reason) {
    q::Result out;
    const Mood mood = mood_of(c);
    if (r.rejected) {
        out.outcome = q::Outcome::failed;
        out.kind = decide::FailureKind::recipient;
        out.reason = &no_such_user;
    } else if (!m.bad && is_full(c, r)) {
        out.outcome = q::Outcome::deferred;
        out.kind = decide::FailureKind::recipient;
        out.reason = &full;
    } else if (mood == Mood::greylists && time_ - r.first_try < 300 * second) {
        out.outcome = q::Outcome::deferred;
        out.kind = decide::FailureKind::recipient;
        out.reason = &grey;
    } else if (!c.local && domain_of(r.domain).untrusted) {
        out.outcome = q::Outcome::deferred;
        out.kind = decide::FailureKind::policy;
        out.reason = &untrusted;
    } else if (mood == Mood::hangs_up) {
        out.outcome = q::Outcome::deferred;
        out.kind = decide::FailureKind::connection;
        out.reason = &closing;
    } else if (m.bad || mood == Mood::defers_all || mood == Mood::drops) {
        out.outcome = q::Outcome::deferred;
        out.kind = decide::FailureKind::message;
        out.reason = reason;
    }
    return out;
}

void World::answer(std::uint64_t id) {
    Connection& c = connections_.at(id);
    c.busy = false;
    const Delivery d = c.deliveries.front();
    c.deliveries.pop_front();
    c.moved = time_;
    Message* m = message(d.id);
    const Mood mood = mood_of(c);
    const bool drops = mood == Mood::drops;
    bool of_policy = true, of_recipient = false, of_others = false;
    std::vector<q::Result> results;
    for (auto n : d.numbers) {
        Recipient& r = recipient(d.id, n);
        if (r.first_try < 0) r.first_try = time_;
        r.last_try = time_;
        r.in_flight = false;
        q::Result result = verdict(c, r, *m, drops ? &dropped : &later_please);
        result.number = n;
        if (result.outcome == q::Outcome::delivered) ++r.delivered;
        if (result.outcome == q::Outcome::deferred)
            (result.kind == decide::FailureKind::recipient ? of_recipient : of_others) = true;
        of_policy = of_policy && result.kind == decide::FailureKind::policy;
        results.push_back(result);
    }
    q::Done done;
    done.connection = id;
    done.delivery = d.delivery;
    done.id = d.id;
    done.results = results;
    done.dropped = drops;
    const auto failures = [&] {
        const auto links = engine_->links(now());
        const auto link = std::ranges::find(links, hosts_[c.host].name, &q::LinkInfo::name);
        return link == links.end() ? 0 : link->failures;
    };
    const auto before = of_policy ? failures() : 0;
    const std::string queue = queue_of(*m, m->recipients[d.numbers[0]]);
    const bool only_theirs = of_recipient && !of_others;
    const auto shared = only_theirs ? failures_of(queue, c) : 0;
    failed_rule_ = c.rule;
    engine_->done(done, now(), out_);
    if (of_policy && failures() > before) wrong("one domain's policy failed the link of all");
    check_recorded(d.id, results);
    if (only_theirs && failures_of(queue, connections_.at(id)) > shared)
        wrong("one recipient's failure keeps the mail of others");
    if (drops || mood == Mood::hangs_up || (mood == Mood::vanished) || (!c.local && !healed_ && dice_.chance(2))) {
        later(0, [this, id, incarnation = incarnation_] {
            if (incarnation == incarnation_ && connections_.contains(id)) end_connection(id, true, true, false);
        });
        return;
    }
    work(id);
}

} // namespace sim
