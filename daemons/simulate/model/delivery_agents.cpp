#include "daemons/simulate/model/delivery_agents.h"
#include "daemons/decide/queue/failure_mapping.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace postrider::simulate {

using namespace std::chrono_literals;
namespace q = decide::queue;

namespace {
constexpr smtp::Duration local_transaction = 5ms, goodbye = 1ms;
}

void DeliveryAgents::open(const q::OpenConnection& a) {
    Connection c;
    c.agent = a.agent;
    c.link = a.link;
    c.local = a.link.starts_with("store:");
    if (const auto link = links_.find(a.link); !c.local && link != links_.end()) {
        const auto chance = [this](std::uint32_t most) -> std::uint32_t {
            return most == 0 ? 0 : static_cast<std::uint32_t>(random_.number() % (std::uint64_t(most) + 1));
        };
        c.hosts = {link->second.hosts, client_.addresses_per_attempt, chance};
        c.rule = link->second.rule;
    }
    connections_.insert_or_assign(a.connection, std::move(c));
    schedule_.in(0s, [this, id = a.connection] {
        if (connections_.contains(id)) next_host(id);
    });
}

void DeliveryAgents::schedule_in_session(q::ConnectionId id, smtp::Duration in, std::function<void()> what) {
    schedule_.in(in, [this, id, session = connections_.at(id).session, what = std::move(what)] {
        const auto at = connections_.find(id);
        if (at != connections_.end() && at->second.session == session) what();
    });
}

void DeliveryAgents::next_host(q::ConnectionId id) {
    auto& c = connections_.at(id);
    disconnect(c);
    if (c.local) return greeted(id, {});
    const auto host = c.hosts.next(recent_failures_[c.agent], schedule_.time());
    if (!host) return link_failed(id);
    c.host = host->name;
    Server& server = servers_.at(*host);
    auto answer = servers_.greet(server, schedule_.time());
    if (answer.ok) c.server = &server;
    schedule_in_session(id, answer.takes, [this, id, answer] { greeted(id, answer); });
}

void DeliveryAgents::greeted(q::ConnectionId id, const Answer& answer) {
    auto& c = connections_.at(id);
    if (!answer.ok) return session_failed(id, answer);
    c.up = true;
    if (!c.local) recent_failures_[c.agent].succeeded(c.host);
    if (!std::exchange(c.was_up, true)) owner_.connected(id);
    deliver_next(id);
}

void DeliveryAgents::deliver(const q::Deliver& a) {
    connections_.at(a.connection).deliveries.push_back({a.delivery, a.id});
    schedule_.in(0s, [this, id = a.connection] { deliver_next(id); });
}

void DeliveryAgents::close(const q::CloseConnection& a) {
    connections_.at(a.connection).closing = true;
    schedule_.in(goodbye, [this, id = a.connection] { deliver_next(id); });
}

void DeliveryAgents::recall(const q::Recall& a) {
    schedule_.in(0s, [this, id = a.connection] {
        const auto at = connections_.find(id);
        if (at == connections_.end()) return;
        auto& waiting = at->second.deliveries;
        const auto begun = waiting.begin() + std::min<std::ptrdiff_t>(at->second.busy ? 1 : 0, std::ssize(waiting));
        std::vector<q::DeliveryId> back;
        for (auto each = begun; each != waiting.end(); ++each) back.push_back(each->id);
        waiting.erase(begun, waiting.end());
        owner_.returned({id, back});
    });
}

void DeliveryAgents::cut_connections(const Fault& fault) {
    std::vector<q::ConnectionId> cut;
    for (const auto& [id, c] : connections_)
        if (c.up && c.server && fault.applies_to(c.server->name, c.server->port)) cut.push_back(id);
    std::ranges::sort(cut); // not by chance
    Answer lost{0s, false, smtp::Stage::mail, 0, {"4.4.2", "", "", ""}, true};
    for (const auto id : cut) {
        lost.reason.text = fmt::format("lost connection with {}", connections_.at(id).server->name);
        schedule_in_session(id, 0s, [this, id, lost] { session_failed(id, lost); });
    }
}

void DeliveryAgents::deliver_next(q::ConnectionId id) {
    const auto at = connections_.find(id);
    if (at == connections_.end()) return;
    auto& c = at->second;
    if (!c.up || c.busy) return;
    if (c.deliveries.empty()) {
        if (c.closing) end(id, nullptr);
        return;
    }
    c.busy = true;
    const auto answer =
        c.server ? servers_.take(*c.server, owner_.recipient_of(c.deliveries.front().message), schedule_.time())
                 : Answer{local_transaction};
    schedule_in_session(id, answer.takes, [this, id, answer] { answered(id, answer); });
}

void DeliveryAgents::answered(q::ConnectionId id, const Answer& answer) {
    auto& c = connections_.at(id);
    if (!answer.ok && decide::classify(answer.observation()).kind == decide::FailureKind::connection)
        return session_failed(id, answer);
    c.busy = false;
    ++c.uses;
    finish_delivery(id, answer);
    if (answer.closes)
        end(id, &answer);
    else
        deliver_next(id);
}

// The conversation ended without a verdict on the message at hand, if there was one.
void DeliveryAgents::session_failed(q::ConnectionId id, const Answer& why) {
    auto& c = connections_.at(id);
    const auto failure = decide::classify(why.observation());
    const bool unused = c.uses == 0; // no message has been delivered there
    c.last_failure = why;
    if (why.mail_accepted()) c.mail_failure = why;
    if (why.code >= 500) c.hosts.drop_fallback();
    if (unused && failure.next_host()) {
        recent_failures_[c.agent].add(c.host, schedule_.time());
        return next_host(id);
    }
    if (!c.busy || (unused && !why.mail_accepted())) return link_failed(id);
    finish_delivery(id, why);
    end(id, &why);
}

// No host is left. What a server says about itself is no verdict on the mail: that waits. One that accepted MAIL
// proved its link: then the message's attempt failed.
void DeliveryAgents::link_failed(q::ConnectionId id) {
    auto& c = connections_.at(id);
    auto why = c.mail_failure ? *c.mail_failure : c.last_failure;
    why.reason.status = decide::status_as(why.reason.status, decide::Severity::temporary);
    if (c.mail_failure && !c.deliveries.empty())
        finish_delivery(id, why, FailureScope::link);
    else
        owner_.attempt_failed(c.link);
    end(id, &why);
}

// The message at hand has its verdict.
void DeliveryAgents::finish_delivery(q::ConnectionId id, const Answer& answer, FailureScope scope) {
    auto& c = connections_.at(id);
    const auto delivery = c.deliveries.front();
    c.deliveries.pop_front();
    q::Result result;
    q::Reason reason = answer.reason;
    if (answer.ok) {
        owner_.delivered(delivery.message, c.local ? std::string() : c.link);
    } else {
        auto severity = decide::classify(answer.observation()).severity;
        std::optional<decide::Severity> adjusted;
        if (scope == FailureScope::link)
            adjusted = decide::Severity::temporary;
        else if (c.rule)
            adjusted = decide::reading(c.rule->replies, answer.observation());
        if (adjusted) reason.status = decide::status_as(reason.status, severity = *adjusted);
        const auto outcome = severity == decide::Severity::permanent ? q::Outcome::failed : q::Outcome::deferred;
        result = q::observed(0, outcome, {answer.stage, answer.code, reason.status}, reason);
        owner_.attempt_failed(c.link);
    }
    q::Done event;
    event.connection = id;
    event.delivery = delivery.id;
    event.id = delivery.message;
    event.results = {&result, 1};
    event.dropped = !answer.ok && decide::dropped(answer.observation());
    owner_.done(event);
}

void DeliveryAgents::end(q::ConnectionId id, const Answer* failure) {
    auto& c = connections_.at(id);
    disconnect(c);
    q::Closed event{.connection = id, .was_up = c.was_up};
    if (failure) event = q::failed(id, c.was_up, failure->observation(), failure->reason);
    connections_.erase(id);
    owner_.closed(event);
}

void DeliveryAgents::disconnect(Connection& c) {
    if (c.server) Servers::disconnect(*c.server);
    c.server = nullptr;
    c.up = c.busy = false;
    c.uses = 0;
    ++c.session;
}

} // namespace postrider::simulate
