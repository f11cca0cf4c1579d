#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/queue-manager/probe/operator_advice.h"
#include "daemons/queue-manager/conversion/records.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/net/network.h"
#include "daemons/decide/outcome/advice.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/decide/message/suppression.h"
#include "daemons/queue-manager/conversion/categorization.h"
#include <algorithm>
#include <fmt/format.h>

namespace queue_manager {

using common::Loop;
using proto::delivery::Finding;
using Where = decide::Mishap::Where;

namespace {

Finding finding_of(proto::delivery::Outcome outcome) {
    using proto::delivery::Outcome;
    return outcome == Outcome::delivered  ? Finding::good
           : outcome == Outcome::deferred ? Finding::temporary
                                          : Finding::permanent;
}

TrialLine of_fate(const spool::ResolvedRecipient& outcome) {
    using spool::Fate;
    TrialLine line{.step = "categorize", .recipient = outcome.address, .status = outcome.status};
    switch (outcome.fate) {
    case Fate::remote:
        line.text = "leaves this host";
        if (!outcome.transport.empty()) line.text += ", by way of " + outcome.transport;
        break;
    case Fate::local:
        line.text = "is delivered here, to " + place_here(outcome);
        break;
    case Fate::discard:
        line.text = "is thrown away, as configured";
        line.finding = Finding::notice;
        break;
    case Fate::failed:
    case Fate::unknown:
        line.text = outcome.text;
        line.finding = outcome.fate == Fate::failed ? Finding::permanent : Finding::temporary;
        line.advice = decide::advice({.where = outcome.suppressed ? Where::suppression : Where::recipient,
                                      .status = line.status,
                                      .recipient = line.recipient});
        break;
    }
    return line;
}

std::string shown(const proto::route::Host& host, decide::RouteKind kind) {
    if (host.name.starts_with('/')) return "the socket " + host.name;
    return kind == decide::RouteKind::mx ? fmt::format("{} ({})", host.name, host.preference)
                            : fmt::format("{} port {}", host.name, host.port);
}

TrialLine of_route(const proto::route::Routed& route) {
    TrialLine line{.step = "route", .status = route.status, .text = route.text};
    if (!route.rule.empty()) line.text = fmt::format("by [route.\"{}\"]: {}", route.rule, line.text);
    if (route.kind == decide::RouteKind::temporary || route.kind == decide::RouteKind::permanent) {
        line.finding = route.kind == decide::RouteKind::permanent ? Finding::permanent : Finding::temporary;
        const auto& name = route.records_of.empty() ? route.domain : route.records_of;
        line.advice = decide::advice(
            {.where = route.by_srv ? Where::service : Where::route, .status = line.status, .domain = name});
        return line;
    }
    std::string hosts;
    for (const auto& host : route.hosts)
        hosts += fmt::format("{}{}", hosts.empty() ? "" : ", ", shown(host, route.kind));
    const auto& name = route.records_of.empty() ? route.domain : route.records_of;
    line.text += route.kind == decide::RouteKind::mx ? fmt::format("{} of {}: {}", route.by_srv ? "SRV" : "MX", name, hosts) : hosts;
    if (const auto pool = decide::pool_of_link(route.link); !pool.empty()) line.text += fmt::format(", from pool {}", pool);
    return line;
}

} // namespace

std::optional<proto::route::Host> host_named(std::string_view text) {
    std::string bracketed(text);
    if (!text.starts_with('[') && !text.contains("@[")) {
        const auto colon = common::IpAddress::parse(text) ? text.npos : text.find(':');
        bracketed = fmt::format("[{}]{}", text.substr(0, colon), colon == text.npos ? "" : text.substr(colon));
    }
    const auto hop = decide::NextHop::parse(bracketed);
    if (!hop || hop->kind != decide::NextHop::Kind::host) return {};
    proto::route::Host host{hop->name, hop->port, 0};
    host.account = hop->account;
    return host;
}

std::uint64_t Trials::begin(Order order, Listener listener) {
    const auto number = ++last_;
    const auto address = order.address, reverse_path = order.reverse_path;
    trials_.emplace(number, Trial{std::move(order), std::move(listener), Loop::now().monotonic});
    hands_.inquire(address, reverse_path, [this, number](const auto& findings) { found(number, findings); });
    return number;
}

void Trials::abandon(std::uint64_t number) {
    const auto at = trials_.find(number);
    if (at == trials_.end()) return;
    if (at->second.agent) hands_.end(*at->second.agent, {number});
    trials_.erase(at);
}

// --- who are the recipients, and where are they?
// -----------------------------------------------------------------

void Trials::found(std::uint64_t number, const Inquiry::Findings& findings) {
    const auto at = trials_.find(number);
    if (at == trials_.end()) return;
    if (!findings.error.empty()) {
        const auto listener = std::move(at->second.listener);
        trials_.erase(at);
        return listener.refused(findings.error);
    }
    for (const auto& road : findings.roads) take(at->second, road);
    go_on(at);
}

void Trials::take(Trial& trial, const Inquiry::Road& road) {
    const auto& outcome = road.outcome;
    const auto fate = of_fate(outcome);
    tell(trial, fate);
    worse(trial, fate);
    using spool::Fate;
    if (outcome.fate == Fate::local || outcome.fate == Fate::discard) ++trial.here;
    if (outcome.fate != Fate::remote || !road.route) return;

    auto route = *road.route;
    const auto& path = outcome.reverse_path.empty() ? trial.order.reverse_path : outcome.reverse_path;
    const auto same = std::ranges::find_if(trial.left, [&](const Transaction& each) {
        return each.route.domain == route.domain && each.reverse_path == path;
    });
    if (same != trial.left.end() && same->recipients.size() < most_recipients)
        return same->recipients.push_back(outcome.address);
    if (same != trial.left.end() || trial.left.size() >= most_transactions)
        return tell(trial, {.step = "route",
                            .finding = Finding::notice,
                            .recipient = outcome.address,
                            .text = "one of so many that it is left out"});
    if (trial.order.host) {
        route.kind = decide::RouteKind::configured;
        route.hosts = {*trial.order.host};
        route.text = "only the host that was asked for: ";
        auto line = of_route(route);
        tell(trial, std::move(line));
    } else {
        const auto line = of_route(route);
        tell(trial, line);
        worse(trial, line);
        if (line.finding != Finding::good) return;
    }
    for (auto& hindrance : hands_.hindrances(*road.route))
        tell(trial, {.step = "queue", .finding = Finding::notice, .text = std::move(hindrance)});
    trial.left.push_back({std::move(route), path, {outcome.address}});
}

// --- what would the servers say?
// ---------------------------------------------------------------------------------

void Trials::go_on(Place at) {
    auto& [number, trial] = *at;
    trial.agent.reset();
    if (trial.left.empty()) return conclude(at);
    auto next = std::move(trial.left.front());
    trial.left.pop_front();
    trial.tried += next.recipients.size();
    trial.sent = Loop::now().monotonic;
    trial.route = std::move(next.route);
    auto connect = hands_.connect(trial.route);
    trial.pool = connect.pool;
    trial.agent = hands_.send({number, std::move(connect), std::move(next.reverse_path), std::move(next.recipients),
                               trial.order.every_host, trial.route.secure, trial.route.sts});
    if (trial.agent) return;
    const auto listener = std::move(trial.listener);
    trials_.erase(at);
    listener.refused("no delivery agent (smtp-client) is connected: try again");
}

void Trials::said(AgentId agent, const proto::delivery::TryStep& step) {
    const auto at = trials_.find(step.attempt);
    if (at == trials_.end() || at->second.agent != agent) return;
    auto& trial = at->second;
    using proto::delivery::Step;
    if ((step.step == Step::client || step.step == Step::server) && !trial.order.dialogue) return;
    TrialLine line{.at = trial.sent - trial.began + smtp::Duration(step.at),
                   .step = name_of(step.step),
                   .finding = step.finding,
                   .host = step.host,
                   .recipient = step.recipient,
                   .code = step.reply.code,
                   .status = step.reply.status,
                   .text = step.reply.text};
    trial.listener.line(line);
}

void Trials::said(AgentId agent, const proto::delivery::Tried& tried) {
    const auto at = trials_.find(tried.attempt);
    if (at == trials_.end() || at->second.agent != agent) return;
    const auto& reason = tried.reason;
    const auto why = reason_of(reason, tried.host);
    const auto finding = finding_of(tried.outcome);
    worse(at->second,
          {.finding = finding,
           .host = tried.host,
           .code = reason.code,
           .status = reason.status,
           .text = reason.text,
           .advice = finding == Finding::good
                         ? std::string()
                         : advice_on(why, {at->second.route.domain, at->second.route.link, hands_.sends_as()}, tried.host)});
    go_on(at);
}

void Trials::gone(AgentId agent) {
    for (auto at = trials_.begin(); at != trials_.end();) {
        if (at->second.agent != agent) {
            ++at;
            continue;
        }
        const auto listener = std::move(at->second.listener);
        at = trials_.erase(at);
        listener.refused("the delivery agent went away before it was through: try again");
    }
}

// --- telling
// -----------------------------------------------------------------------------------------------------

void Trials::conclude(Place at) {
    auto node = trials_.extract(at);
    auto& trial = node.mapped();
    TrialLine line = std::move(trial.worst);
    line.step = "result";
    if (line.finding == Finding::temporary)
        line.text = "mail would wait and be tried again: " + line.text;
    else if (line.finding == Finding::permanent)
        line.text = "mail would be returned: " + line.text;
    else if (trial.tried == 0)
        line.text = "mail stays here: no server to ask";
    else
        line.text = trial.tried == 1 ? "the recipient would be accepted; nothing was sent"
                                     : fmt::format("all {} recipients would be accepted; nothing was sent", trial.tried);
    tell(trial, std::move(line));
    trial.listener.over();
}

void Trials::tell(Trial& trial, TrialLine line) {
    line.at = Loop::now().monotonic - trial.began;
    trial.listener.line(line);
}

void Trials::worse(Trial& trial, const TrialLine& line) {
    if (line.finding >= Finding::temporary && line.finding > trial.worst.finding) trial.worst = line;
}

} // namespace queue_manager
