#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/common/net/network.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/message/suppression.h"
#include "daemons/decide/outcome/advice.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/queue-manager/conversion/categorization.h"
#include "daemons/queue-manager/conversion/records.h"
#include "daemons/queue-manager/probe/operator_advice.h"
#include <algorithm>
#include <fmt/format.h>

namespace queue_manager {

using common::Loop;
using proto::delivery::Finding;
using Where = decide::DeliveryFailure::Where;

namespace {

Finding finding_of(proto::delivery::Outcome outcome) {
    using proto::delivery::Outcome;
    return outcome == Outcome::delivered  ? Finding::good
           : outcome == Outcome::deferred ? Finding::temporary
                                          : Finding::permanent;
}

ProbeLine of_fate(const spool::ResolvedRecipient& outcome) {
    using spool::Fate;
    ProbeLine line{.step = "categorize", .recipient = outcome.address, .status = outcome.status};
    switch (outcome.fate) {
    case Fate::remote:
        line.text = "leaves this host";
        if (!outcome.transport.empty()) line.text += ", by transport " + outcome.transport;
        break;
    case Fate::local: line.text = "is delivered here, to " + local_target_text(outcome); break;
    case Fate::discard:
        line.text = "is discarded, as configured";
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

ProbeLine of_route(const proto::route::Routed& route) {
    ProbeLine line{.step = "route", .status = route.status, .text = route.text, .rule = route.rule};
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
    line.text += route.kind == decide::RouteKind::mx
                     ? fmt::format("{} of {}: {}", route.by_srv ? "SRV" : "MX", name, hosts)
                     : hosts;
    if (const auto pool = decide::pool_of_link(route.link); !pool.empty())
        line.text += fmt::format(", from pool {}", pool);
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

std::uint64_t DeliveryProbes::begin(Order order, Listener listener) {
    const auto number = ++last_;
    const auto address = order.address, reverse_path = order.reverse_path;
    probes_.emplace(number, Probe{std::move(order), std::move(listener), Loop::now().monotonic});
    deps_.query_route(address, reverse_path, [this, number](const auto& findings) { found(number, findings); });
    return number;
}

std::uint64_t DeliveryProbes::begin_at(Order order, proto::route::Routed route, Listener listener) {
    const auto number = ++last_;
    Transaction transaction{std::move(route), order.reverse_path, {order.address}};
    const auto at = probes_.emplace(number, Probe{std::move(order), std::move(listener), Loop::now().monotonic}).first;
    at->second.left.push_back(std::move(transaction));
    go_on(at);
    return number;
}

void DeliveryProbes::cancel(std::uint64_t number) {
    const auto at = probes_.find(number);
    if (at == probes_.end()) return;
    if (at->second.agent) deps_.end(*at->second.agent, {number});
    probes_.erase(at);
}

// ---- recipients and their hosts ----

void DeliveryProbes::found(std::uint64_t number, const RouteQuery::Findings& findings) {
    const auto at = probes_.find(number);
    if (at == probes_.end()) return;
    if (!findings.error.empty()) {
        const auto listener = std::move(at->second.listener);
        probes_.erase(at);
        return listener.refused(findings.error);
    }
    for (const auto& recipient_route : findings.routes) take(at->second, recipient_route);
    go_on(at);
}

void DeliveryProbes::take(Probe& probe, const RouteQuery::RecipientRoute& recipient_route) {
    const auto& outcome = recipient_route.outcome;
    const auto fate = of_fate(outcome);
    report(probe, fate);
    worse(probe, fate);
    using spool::Fate;
    if (outcome.fate == Fate::local || outcome.fate == Fate::discard) ++probe.here;
    if (outcome.fate != Fate::remote || !recipient_route.route) return;

    auto route = *recipient_route.route;
    const auto& path = outcome.reverse_path.empty() ? probe.order.reverse_path : outcome.reverse_path;
    const auto same = std::ranges::find_if(probe.left, [&](const Transaction& each) {
        return each.route.domain == route.domain && each.reverse_path == path;
    });
    if (same != probe.left.end() && same->recipients.size() < most_recipients)
        return same->recipients.push_back(outcome.address);
    if (same != probe.left.end() || probe.left.size() >= most_transactions)
        return report(probe, {.step = "route",
                              .finding = Finding::notice,
                              .recipient = outcome.address,
                              .text = "omitted: too many recipients"});
    if (probe.order.host) {
        route.kind = decide::RouteKind::configured;
        route.hosts = {*probe.order.host};
        route.text = "only the requested host: ";
        auto line = of_route(route);
        report(probe, std::move(line));
    } else {
        const auto line = of_route(route);
        report(probe, line);
        worse(probe, line);
        if (line.finding != Finding::good) return;
    }
    for (auto& obstacle : deps_.obstacles(*recipient_route.route))
        report(probe, {.step = "queue", .finding = Finding::notice, .text = std::move(obstacle)});
    probe.left.push_back({std::move(route), path, {outcome.address}});
}

// ---- the servers' replies ----

void DeliveryProbes::go_on(Place at) {
    auto& [number, probe] = *at;
    probe.agent.reset();
    if (probe.left.empty()) return conclude(at);
    auto next = std::move(probe.left.front());
    probe.left.pop_front();
    probe.tried += next.recipients.size();
    probe.sent = Loop::now().monotonic;
    probe.route = std::move(next.route);
    auto connect = deps_.connect(probe.route);
    probe.pool = connect.pool;
    probe.agent = deps_.send({number, std::move(connect), std::move(next.reverse_path), std::move(next.recipients),
                              probe.order.every_host, probe.route.secure, probe.route.sts});
    if (probe.agent) return;
    const auto listener = std::move(probe.listener);
    probes_.erase(at);
    listener.refused("no delivery agent (smtp-client) is connected: try again");
}

void DeliveryProbes::said(AgentId agent, const proto::delivery::ProbeStep& step) {
    const auto at = probes_.find(step.attempt);
    if (at == probes_.end() || at->second.agent != agent) return;
    auto& probe = at->second;
    using proto::delivery::Step;
    if ((step.step == Step::client || step.step == Step::server) && !probe.order.dialogue) return;
    ProbeLine line{.at = probe.sent - probe.began + smtp::Duration(step.at),
                   .step = name_of(step.step),
                   .finding = step.finding,
                   .host = step.host,
                   .recipient = step.recipient,
                   .code = step.reply.code,
                   .status = step.reply.status,
                   .text = step.reply.text};
    probe.listener.line(line);
}

void DeliveryProbes::said(AgentId agent, const proto::delivery::ProbeResult& tried) {
    const auto at = probes_.find(tried.attempt);
    if (at == probes_.end() || at->second.agent != agent) return;
    if (at->second.listener.result) at->second.listener.result(tried);
    const auto& reason = tried.reason;
    const auto why = reason_of(reason, tried.host);
    const auto finding = finding_of(tried.outcome);
    worse(at->second,
          {.finding = finding,
           .host = tried.host,
           .code = reason.code,
           .status = reason.status,
           .text = reason.text,
           .advice =
               finding == Finding::good
                   ? std::string()
                   : advice_on(why, {at->second.route.domain, at->second.route.link, deps_.agent_user()}, tried.host)});
    go_on(at);
}

void DeliveryProbes::gone(AgentId agent) {
    for (auto at = probes_.begin(); at != probes_.end();) {
        if (at->second.agent != agent) {
            ++at;
            continue;
        }
        const auto listener = std::move(at->second.listener);
        at = probes_.erase(at);
        listener.refused("the delivery agent exited before it was done: try again");
    }
}

// ---- reports ----

void DeliveryProbes::conclude(Place at) {
    auto node = probes_.extract(at);
    auto& probe = node.mapped();
    ProbeLine line = std::move(probe.worst);
    line.step = "result";
    if (line.finding == Finding::temporary)
        line.text = "mail would wait and be retried: " + line.text;
    else if (line.finding == Finding::permanent)
        line.text = "mail would be returned: " + line.text;
    else if (probe.tried == 0)
        line.text = "mail is delivered here: there is no server to try";
    else
        line.text = probe.tried == 1
                        ? "the recipient would be accepted; nothing was sent"
                        : fmt::format("all {} recipients would be accepted; nothing was sent", probe.tried);
    report(probe, std::move(line));
    probe.listener.over();
}

void DeliveryProbes::report(Probe& probe, ProbeLine line) {
    line.at = Loop::now().monotonic - probe.began;
    probe.listener.line(line);
}

void DeliveryProbes::worse(Probe& probe, const ProbeLine& line) {
    if (line.finding >= Finding::temporary && line.finding > probe.worst.finding) probe.worst = line;
}

} // namespace queue_manager
