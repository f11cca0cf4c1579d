#include "daemons/simulate/model/simulation.h"
#include "daemons/common/config/config.h"
#include "daemons/common/submission/address_map.h"
#include "daemons/simulate/report/ascii_chart.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider::simulate {

using namespace std::chrono_literals;
namespace q = decide::queue;

namespace {

constexpr auto monotonic_begin = 1000s;
constexpr auto wall_begin = 1'767'225'600s; // 2026-01-01
constexpr auto asking_categorizer = 1ms, asking_router = 20ms, making_report = 5ms;
constexpr std::string_view local_store = "local";
constexpr std::string_view nowhere = "(not routed)";
constexpr std::uint64_t between_progress = 1 << 16; // steps

} // namespace

Simulation::Simulation(const config::Config& config, const Scenario& scenario, std::size_t columns)
    : config_(config), classes_(config.domain_classes()), scenario_(scenario), random_(scenario.seed),
      router_(config.mta, config.dns, config.routes, scenario), servers_(scenario, config.smtp_client, random_),
      timeline_(scenario.duration, scenario.interval, columns),
      agents_(*this, schedule_, servers_, random_, config.smtp_client), engine_(config.queue, scenario.seed, now()) {
    schedule_scenario();
}

smtp::Now Simulation::now() const {
    return {smtp::Monotonic(monotonic_begin + schedule_.time()), smtp::WallTime(wall_begin + schedule_.time())};
}

void Simulation::schedule_scenario() {
    q::AgentId agent = 0;
    call_engine([&](smtp::Now now, auto& out) {
        for (std::uint32_t n = 0; n < config_.smtp_client.workers; ++n)
            engine_.agent_attached(++agent, q::AgentKind::smtp, config_.queue.connections_total, now, out);
        engine_.agent_attached(++agent, q::AgentKind::local, config_.queue.connections_local, now, out);
    });
    for (const auto& fault : scenario_.faults) {
        if (fault.from >= scenario_.duration) continue;
        schedule_.in(fault.from, [this, &fault] { fault_begins(fault); });
        if (fault.until() < scenario_.duration)
            schedule_.in(fault.until(), [this, &fault] {
                timeline_.add({.at = schedule_.time(),
                               .kind = EventKind::fault_ends,
                               .text = fmt::format("{}: {} has recovered", fault.name, fault.targets())});
            });
    }
    for (const auto& traffic : scenario_.traffic) {
        auto& source =
            sources_.emplace_back(Source{traffic, {traffic, random_}, {}, 0, timeline_.traffic_stats(traffic.name)});
        for (const auto& domain : traffic.domains) source.domains.push_back(domain_index(domain, pool_of(traffic)));
        source.reports_to = domain_index(traffic.sender.empty() || traffic.null_sender()
                                             ? own_domain()
                                             : traffic.sender.substr(traffic.sender.find('@') + 1));
    }
    for (std::size_t n = 0; n < sources_.size(); ++n) schedule_arrival(n);
}

std::string Simulation::own_domain() const {
    return config_.local.domains.empty() ? config_.mta.hostname : config_.local.domains.front();
}

void Simulation::fault_begins(const Fault& fault) {
    timeline_.add({.at = schedule_.time(),
                   .kind = EventKind::fault_begins,
                   .text = fmt::format("{}: {} {}", fault.name, fault.targets(), fault.description())});
    if (Servers::cuts_connections(fault)) agents_.cut_connections(fault);
}

void Simulation::run(const std::function<void(double)>& progress) {
    for (std::uint64_t step = 0;; ++step) {
        const auto due = engine_.next_timer();
        const auto timer =
            due ? std::max(schedule_.time(), due->time_since_epoch() - monotonic_begin) : Schedule::never;
        const auto event = schedule_.next();
        const auto next = std::min(timer, event);
        if (next >= scenario_.duration) break;
        schedule_.advance(next);
        if (progress && step % between_progress == 0)
            progress(static_cast<double>(next.count()) / static_cast<double>(scenario_.duration.count()));
        if (event <= timer) {
            schedule_.run_next();
        } else {
            call_engine([&](smtp::Now now, auto& out) { engine_.timer(now, out); });
        }
    }
    schedule_.advance(scenario_.duration);
    timeline_.end();
}

void Simulation::execute_actions() {
    // Actions only schedule calls; the engine is not called from here, so its views stay valid.
    for (const q::Action& action : out_.list) std::visit([&](const auto& a) { execute(a); }, action);
    out_.clear();
}

// ---- mail ----

// As it would be settled when the mail is accepted.
std::string Simulation::pool_of(const Traffic& traffic) const {
    if (!traffic.pool.empty()) return traffic.pool;
    const auto* by_sender =
        common::find_by_address(config_.pool_choice.by_sender, traffic.sender, config_.local.recipient_delimiter);
    return by_sender ? *by_sender : std::string();
}

std::uint32_t Simulation::domain_index(const std::string& domain, const std::string& pool) {
    const bool local = classes_.by_name(domain) == decide::AddressClass::local; // tables are not asked
    const auto name = local ? domain : decide::link_from(domain, pool);
    const auto [at, is_new] = domains_by_name_.try_emplace(name, static_cast<std::uint32_t>(domains_.size()));
    if (!is_new) return at->second;
    std::string link(local ? local_store : nowhere);
    if (!local)
        if (const auto found = router_.find(domain, schedule_.time(), pool).destination; found.found())
            link = found.link;
    domains_.push_back({domain, local ? "" : pool, std::move(link), 0, local});
    return at->second;
}

void Simulation::schedule_arrival(std::size_t source) {
    if (const auto at = sources_[source].arrivals.next())
        schedule_.at(std::max(*at, schedule_.time()), [this, source] { arrive(source); });
}

void Simulation::arrive(std::size_t number) {
    const Source& source = sources_[number];
    const auto& traffic = source.traffic;
    const auto turn = source.arrivals.count() - 1;
    auto submitter = traffic.name;
    if (traffic.senders > 1) submitter += fmt::format("/{}", turn % traffic.senders);
    accept({.domain = source.domains[turn % source.domains.size()],
            .reports_to = source.reports_to,
            .stats = &source.stats,
            .accepted = schedule_.time(),
            .size = traffic.size,
            .null_sender = traffic.null_sender()},
           traffic.lane, submitter, traffic.retry_policy);
    schedule_arrival(number);
}

void Simulation::accept(Message message, q::Lane lane, std::string_view submitter, std::string_view policy) {
    auto& to = domains_[message.domain];
    ++to.queued;
    timeline_.accepted(to.link, schedule_.time());
    if (message.stats) ++message.stats->accepted;
    messages_.push_back(message);
    q::Accepted event;
    event.id = spool::QueueId{messages_.size() << 8};
    event.size = message.size;
    event.arrival = now().wall;
    event.lane = lane;
    event.sender = message.null_sender ? q::Sender::null : q::Sender::ordinary;
    event.submitter = submitter;
    event.retry_policy = policy;
    event.pool = to.pool;
    call_engine([&](smtp::Now now, auto& out) { engine_.accepted(event, now, out); });
}

void Simulation::execute(const q::AskCategorizer& a) {
    schedule_.in(asking_categorizer, [this, id = a.id] {
        const auto& to = domain_of(id);
        const q::FinalRecipient recipient{0, to.local ? q::Fate::local : q::Fate::remote,
                                          to.local ? local_store : std::string_view(to.name), 0, nullptr};
        call_engine([&](smtp::Now now, auto& out) { engine_.categorized({id, {&recipient, 1}}, now, out); });
    });
}

// A report is mail: it arrives, has a null sender, and goes where its recipient's mail goes.
void Simulation::execute(const q::MakeReport& a) {
    auto& to = domain_of(a.id);
    const bool nobody = message(a.id).null_sender; // to notify
    if (a.kind == q::ReportKind::failed) {
        if (to.queued > 0) --to.queued;
        if (auto* stats = message(a.id).stats) ++stats->returned;
        const bool expired = !a.recipients.empty() && a.recipients.front().expired;
        timeline_.returned(to.link, schedule_.time(),
                           nobody    ? ReturnReason::no_sender
                           : expired ? ReturnReason::expired
                                     : ReturnReason::rejected);
    } else if (a.kind == q::ReportKind::delayed) {
        timeline_.noticed(to.link, schedule_.time());
    }
    schedule_.in(making_report, [this, request = a.request, about = a.id, nobody] {
        q::Reported event;
        event.request = request;
        if (!nobody) event.report_id = spool::QueueId{(messages_.size() + 1) << 8};
        call_engine([&](smtp::Now now, auto& out) { engine_.reported(event, now, out); });
        if (nobody) return;
        const auto reports_to = message(about).reports_to;
        timeline_.report_sent();
        accept({.domain = reports_to, .reports_to = reports_to, .accepted = schedule_.time(), .null_sender = true},
               q::Lane::normal, "report", "");
    });
}

// ---- delivery agents ----

void Simulation::connected(q::ConnectionId id) {
    call_engine([&](smtp::Now now, auto& out) { engine_.connected(id, now, out); });
}
void Simulation::returned(const q::Returned& event) {
    call_engine([&](smtp::Now now, auto& out) { engine_.returned(event, now, out); });
}
void Simulation::done(const q::Done& event) {
    call_engine([&](smtp::Now now, auto& out) { engine_.done(event, now, out); });
}
void Simulation::closed(const q::Closed& event) {
    call_engine([&](smtp::Now now, auto& out) { engine_.closed(event, now, out); });
}

void Simulation::delivered(spool::QueueId id, const std::string& link) {
    auto& to = domain_of(id);
    if (to.queued > 0) --to.queued;
    const auto now = schedule_.time();
    timeline_.attempted(link.empty() ? to.link : link, now, AttemptResult::succeeded);
    const auto& served = message(id);
    timeline_.delivered(to.link, now, now - served.accepted);
    if (served.stats) {
        ++served.stats->delivered;
        served.stats->delays.push_back(std::chrono::duration<float>(now - served.accepted).count());
    }
}

void Simulation::attempt_failed(const std::string& link) {
    timeline_.attempted(link, schedule_.time(), AttemptResult::failed);
}

// ---- routes ----

void Simulation::execute(const q::AskRoute& a) {
    schedule_.in(asking_router,
                 [this, domain = std::string(a.domain), pool = std::string(a.pool)] { routed(domain, pool); });
}

void Simulation::routed(const std::string& domain, const std::string& pool) {
    auto [destination, valid, rule] = router_.find(domain, schedule_.time(), pool);
    const q::Reason reason{destination.status, destination.text, "", ""};
    q::Routed event;
    event.domain = domain;
    event.pool = pool;
    event.valid = valid;
    event.link = destination.link;
    event.connections = rule ? rule->connections : 0;
    if (rule) event.rule = rule->pattern;
    event.kind = destination.kind;
    auto& to = domains_[domain_index(domain, pool)];
    if (!destination.found()) {
        event.reason = &reason;
        timeline_.state({.at = schedule_.time(),
                         .kind = EventKind::no_route,
                         .link = to.link,
                         .text = fmt::format("{} has no route: {}", domain, reason.text)},
                        destination.kind == decide::RouteKind::temporary ? "no route"
                        : to.link == nowhere                             ? "ready"
                                                                         : "");
    } else {
        if (to.link != destination.link) {
            if (to.link == nowhere)
                timeline_.state({.at = schedule_.time(),
                                 .kind = EventKind::ready,
                                 .link = to.link,
                                 .text = "lookups succeed again"},
                                "ready");
            timeline_.moved(to.link, destination.link, domain, schedule_.time(), to.queued);
            to.link = destination.link;
        }
        agents_.set_hosts(destination.link, destination.hosts, rule);
    }
    call_engine([&](smtp::Now now, auto& out) { engine_.routed(event, now, out); });
}

void Simulation::execute(const q::LinkState& a) {
    router_.link_state(a.link, a.down);
    timeline_.state(
        {.at = schedule_.time(),
         .kind = a.down ? EventKind::down : EventKind::up,
         .link = std::string(a.link),
         .text = a.down ? "is down: its mail moves to the route's next hop, if there is another" : "is up again"},
        a.down ? "down" : "ready");
}

void Simulation::execute(const q::NoticeReset& a) {
    timeline_.add(
        {.at = schedule_.time(),
         .kind = EventKind::reset,
         .text = fmt::format("routes are reset: {} of {} queue{} moved", a.moved, a.queues, a.queues == 1 ? "" : "s")});
}

// ---- health ----

void Simulation::execute(const q::NoticeLink& a) {
    TimelineEvent event{.at = schedule_.time(),
                        .kind = a.health == q::Health::ready    ? EventKind::ready
                                : a.health == q::Health::glitch ? EventKind::glitch
                                                                : EventKind::retry,
                        .link = std::string(a.link.starts_with("store:") ? local_store : a.link),
                        .failures = a.failures};
    if (a.health == q::Health::ready) {
        event.text = "recovered";
    } else {
        event.next = a.next_attempt.time_since_epoch() - wall_begin;
        event.text = fmt::format("in {} after {} failure{}: {}; next attempt at {}", q::word_of(a.health), a.failures,
                                 a.failures == 1 ? "" : "s", a.reason ? a.reason->text : "", clock_text(event.next));
    }
    timeline_.state(std::move(event), q::word_of(a.health));
}

void Simulation::execute(const q::NoticeQueue& a) {
    if (a.event == 4000) return; // a missing route: already reported
    TimelineEvent event{.at = schedule_.time(), .kind = EventKind::queue, .failures = a.failures};
    const auto known = domains_by_name_.find(a.queue);
    event.link = known == domains_by_name_.end() ? std::string(local_store) : domains_[known->second].link;
    event.text = fmt::format("queue {} ", a.queue);
    if (a.health == q::Health::ready) {
        event.text += "recovered";
    } else {
        event.next = a.next_attempt.time_since_epoch() - wall_begin;
        event.text += fmt::format("in {} after {} failure{}: {}", q::word_of(a.health), a.failures,
                                  a.failures == 1 ? "" : "s", a.reason ? a.reason->text : "");
    }
    timeline_.queue_state(std::move(event), std::string(a.queue), q::word_of(a.health));
}

std::vector<std::string> Simulation::unused_names() const {
    std::vector<std::string> names;
    const auto host = [&](const HostName& h) {
        if (!servers_.used(h)) names.push_back("host " + h.to_string());
    };
    const auto domain = [&](const std::string& d) {
        const bool mx_of = std::ranges::any_of(config_.routes, [&](const auto& rule) {
            const auto& hop = rule.next_hops.front().front();
            return hop.kind != decide::NextHop::Kind::host && hop.name == d;
        });
        const bool used = std::ranges::find(domains_, d, &RecipientDomain::name) != domains_.end();
        if (!used && !mx_of) names.push_back("domain " + d);
    };
    for (const auto& h : scenario_.hosts) host(h.name);
    for (const auto& d : scenario_.domains) domain(d.name);
    for (const auto& fault : scenario_.faults) {
        for (const auto& h : fault.hosts) host(h);
        for (const auto& d : fault.domains) domain(d);
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return names;
}

} // namespace postrider::simulate
