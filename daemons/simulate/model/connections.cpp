// What a delivery agent does with a connection the engine asked for: host after host until one greets,
// message after message, and what is told of each end. As daemons/smtp-client does it.
#include "daemons/decide/queue/failure_mapping.h"
#include "daemons/simulate/model/simulation.h"
#include <algorithm>

namespace postrider::simulate {

using namespace std::chrono_literals;
namespace q = decide::queue;

namespace {
constexpr smtp::Duration local_transaction = 5ms, goodbye = 1ms;
}

void World::does(const q::OpenConnection& a) {
    Connection c;
    c.agent = a.agent;
    c.link = a.link;
    c.local = a.link.starts_with("store:");
    if (const auto link = links_.find(a.link); !c.local && link != links_.end()) {
        const auto chance = [this](std::uint32_t most) -> std::uint32_t {
            return most == 0 ? 0 : static_cast<std::uint32_t>(random_.number() % (std::uint64_t(most) + 1));
        };
        c.hosts = {link->second.hosts, config_.smtp_client.addresses_per_attempt, chance};
        c.rule = link->second.rule;
    }
    connections_.insert_or_assign(a.connection, std::move(c));
    later(0s, [this, id = a.connection] {
        if (connections_.contains(id)) next_host(id);
    });
}

void World::later_there(q::ConnectionId id, smtp::Duration in, std::function<void()> what) {
    later(in, [this, id, session = connections_.at(id).session, what = std::move(what)] {
        const auto at = connections_.find(id);
        if (at != connections_.end() && at->second.session == session) what();
    });
}

void World::next_host(q::ConnectionId id) {
    auto& c = connections_.at(id);
    leave(c);
    if (c.local) return greeted(id, {});
    const auto host = c.hosts.next(failed_lately_[c.agent], time_);
    if (!host) return link_failed(id);
    c.host = host->name;
    Server& server = servers_.at(*host);
    auto answer = servers_.greet(server, time_);
    if (answer.good) c.server = &server;
    later_there(id, answer.takes, [this, id, answer] { greeted(id, answer); });
}

void World::greeted(q::ConnectionId id, const Answer& answer) {
    auto& c = connections_.at(id);
    if (!answer.good) return session_broke(id, answer);
    c.up = true;
    if (!c.local) failed_lately_[c.agent].worked(c.host);
    if (!std::exchange(c.was_up, true))
        tell([&](smtp::Now now, auto& out) { engine_.connected(id, now, out); });
    work(id);
}

void World::does(const q::Deliver& a) {
    connections_.at(a.connection).deliveries.push_back({a.delivery, a.id});
    later(0s, [this, id = a.connection] { work(id); });
}

void World::does(const q::CloseConnection& a) {
    connections_.at(a.connection).closing = true;
    later(goodbye, [this, id = a.connection] { work(id); });
}

void World::does(const q::Recall& a) {
    later(0s, [this, id = a.connection] {
        const auto at = connections_.find(id);
        if (at == connections_.end()) return;
        auto& waiting = at->second.deliveries;
        const auto begun = waiting.begin() + std::min<std::ptrdiff_t>(at->second.busy ? 1 : 0, std::ssize(waiting));
        std::vector<q::DeliveryId> back;
        for (auto each = begun; each != waiting.end(); ++each) back.push_back(each->id);
        waiting.erase(begun, waiting.end());
        tell([&](smtp::Now now, auto& out) { engine_.returned({id, back}, now, out); });
    });
}

void World::work(q::ConnectionId id) {
    const auto at = connections_.find(id);
    if (at == connections_.end()) return;
    auto& c = at->second;
    if (!c.up || c.busy) return;
    if (c.deliveries.empty()) {
        if (c.closing) ended(id, nullptr);
        return;
    }
    c.busy = true;
    const auto answer = c.server
                            ? servers_.take(*c.server, message(c.deliveries.front().message).recipient, time_)
                            : Answer{local_transaction};
    later_there(id, answer.takes, [this, id, answer] { answered(id, answer); });
}

void World::answered(q::ConnectionId id, const Answer& answer) {
    auto& c = connections_.at(id);
    if (!answer.good && decide::classify(answer.seen()).kind == decide::FailureKind::connection)
        return session_broke(id, answer);
    c.busy = false;
    ++c.uses;
    done(id, answer);
    if (answer.gone)
        ended(id, &answer);
    else
        work(id);
}

// The conversation ended without a verdict on the message at hand, if there was one.
void World::session_broke(q::ConnectionId id, const Answer& why) {
    auto& c = connections_.at(id);
    const auto failure = decide::classify(why.seen());
    const bool fresh = c.uses == 0; // nobody has been served there
    c.last_failure = why;
    if (why.mail_accepted()) c.mail_failure = why;
    if (why.code >= 500) c.hosts.forgo_fallback();
    if (fresh && failure.next_host()) {
        failed_lately_[c.agent].failed(c.host, time_);
        return next_host(id);
    }
    if (!c.busy || (fresh && !why.mail_accepted())) return link_failed(id);
    done(id, why);
    ended(id, &why);
}

// No host is left. What a server says of itself is no verdict on the mail: that waits. One that accepted MAIL
// proved its link: then the message's try failed.
void World::link_failed(q::ConnectionId id) {
    auto& c = connections_.at(id);
    auto why = c.mail_failure ? *c.mail_failure : c.last_failure;
    why.reason.status = decide::status_as(why.reason.status, decide::Severity::temporary);
    if (c.mail_failure && !c.deliveries.empty())
        done(id, why, Whose::links);
    else
        chronicle_.attempted(c.link, time_, Try::failed);
    ended(id, &why);
}

// The message at hand has its verdict.
void World::done(q::ConnectionId id, const Answer& answer, Whose whose) {
    auto& c = connections_.at(id);
    const auto delivery = c.deliveries.front();
    c.deliveries.pop_front();
    auto& to = place_of(delivery.message);
    q::Result result;
    q::Reason reason = answer.reason;
    if (answer.good) {
        if (to.queued > 0) --to.queued;
        chronicle_.attempted(c.local ? to.link : c.link, time_, Try::succeeded);
        const auto& served = message(delivery.message);
        chronicle_.delivered(to.link, time_, time_ - served.accepted);
        if (served.fortune) {
            ++served.fortune->delivered;
            served.fortune->delays.push_back(std::chrono::duration<float>(time_ - served.accepted).count());
        }
    } else {
        auto severity = decide::classify(answer.seen()).severity;
        std::optional<decide::Severity> reread;
        if (whose == Whose::links)
            reread = decide::Severity::temporary;
        else if (c.rule)
            reread = decide::reading(c.rule->replies, answer.seen());
        if (reread) reason.status = decide::status_as(reason.status, severity = *reread);
        const auto outcome =
            severity == decide::Severity::permanent ? q::Outcome::failed : q::Outcome::deferred;
        result = q::observed(0, outcome, {answer.stage, answer.code, reason.status}, reason);
        chronicle_.attempted(c.link, time_, Try::failed);
    }
    q::Done event;
    event.connection = id;
    event.delivery = delivery.id;
    event.id = delivery.message;
    event.results = {&result, 1};
    event.dropped = !answer.good && decide::dropped(answer.seen());
    tell([&](smtp::Now now, auto& out) { engine_.done(event, now, out); });
}

void World::ended(q::ConnectionId id, const Answer* failure) {
    auto& c = connections_.at(id);
    leave(c);
    q::Closed event{.connection = id, .was_up = c.was_up};
    if (failure) event = q::failed(id, c.was_up, failure->seen(), failure->reason);
    connections_.erase(id);
    tell([&](smtp::Now now, auto& out) { engine_.closed(event, now, out); });
}

void World::leave(Connection& c) {
    if (c.server) Servers::leave(*c.server);
    c.server = nullptr;
    c.up = c.busy = false;
    c.uses = 0;
    ++c.session;
}

} // namespace postrider::simulate
