#include "daemons/postrider/simulate/world.h"
#include "daemons/postrider/simulate/plot.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider::simulate {

using namespace std::chrono_literals;
namespace q = decide::queue;

namespace {

constexpr auto monotonic_begin = 1000s;
constexpr auto wall_begin = 1'767'225'600s; // 2026-01-01
constexpr q::AgentId smtp_agent = 1, local_agent = 2;
constexpr auto local_transaction = 5ms;
constexpr std::string_view local_store = "local";
constexpr std::string_view nowhere = "(not routed)";

const q::Reason refused{"4.4.1", "connection refused", "", ""};
const q::Reason timed_out{"4.4.1", "connection timed out", "", ""};
const q::Reason busy{"4.7.0", "421 4.7.0 too many connections", "421 4.7.0 too many connections", "server"};
const q::Reason lost{"4.4.2", "connection lost", "", ""};
const q::Reason put_off{"4.7.1", "450 4.7.1 greylisted", "450 4.7.1 greylisted", "server"};
const q::Reason try_later{"4.3.0", "451 4.3.0 try again later", "451 4.3.0 try again later", "server"};
const q::Reason no_such_user{"5.1.1", "550 5.1.1 no such user", "550 5.1.1 no such user", "server"};
const q::Reason no_thanks{"5.7.1", "554 5.7.1 rejected", "554 5.7.1 rejected", "server"};
const q::Reason no_name{"4.4.3", "name server failure", "", ""};

std::string_view word_of(Ailment how) {
    switch (how) {
    case Ailment::refuses: return "refuses connections";
    case Ailment::silent: return "does not answer";
    case Ailment::busy: return "says it is busy (421)";
    case Ailment::defers: return "defers every message (451)";
    case Ailment::rejects: return "rejects every message (554)";
    case Ailment::drops: return "hangs up in every message";
    case Ailment::no_dns: return "cannot be looked up";
    }
    return "";
}

std::string who(const Trouble& trouble) {
    std::string text;
    for (const auto& host : trouble.hosts) text += (text.empty() ? "" : ", ") + host.to_string();
    for (const auto& domain : trouble.domains) text += (text.empty() ? "" : ", ") + domain;
    return text;
}

} // namespace

World::World(const config::Config& config, const Scenario& scenario)
    : config_(config), scenario_(scenario), routes_(config.routes), random_(scenario.seed),
      chronicle_(scenario.duration, scenario.interval), engine_(config.queue, scenario.seed, now()) {
    plan();
}

smtp::Now World::now() const {
    return {smtp::Monotonic(monotonic_begin + time_), smtp::WallTime(wall_begin + time_)};
}

void World::later(smtp::Duration in, std::function<void()> what) {
    plan_.push(Planned{time_ + in, ++planned_, std::move(what)});
}

void World::plan() {
    engine_.agent_attached(smtp_agent, q::AgentKind::smtp, config_.queue.connections_total, now(), out_);
    engine_.agent_attached(local_agent, q::AgentKind::local, config_.queue.connections_local, now(), out_);
    perform();
    for (const auto& trouble : scenario_.troubles) {
        if (trouble.from >= scenario_.duration) continue;
        later(trouble.from, [this, &trouble] {
            chronicle_.say(time_, "",
                           fmt::format("{}: {} {}", trouble.name, who(trouble), word_of(trouble.how)));
            // Connections that are up when a host vanishes go with it.
            if (trouble.how != Ailment::refuses && trouble.how != Ailment::silent) return;
            std::vector<q::ConnectionId> cut;
            for (const auto& [id, c] : connections_)
                if (c.up && c.server && trouble_of(*c.server) == &trouble) cut.push_back(id);
            for (const auto id : cut) break_off(id);
        });
        if (trouble.until() < scenario_.duration)
            later(trouble.until(), [this, &trouble] {
                chronicle_.say(time_, "", fmt::format("{}: {} is well again", trouble.name, who(trouble)));
            });
    }
    for (const auto& traffic : scenario_.traffic)
        later(traffic.from, [this, &traffic] { arrive(traffic, 0); });
}

void World::run() {
    for (;;) {
        const auto due = engine_.next_timer();
        const auto timer =
            due ? std::max(time_, due->time_since_epoch() - monotonic_begin) : smtp::Duration::max();
        const auto event = plan_.empty() ? smtp::Duration::max() : plan_.top().at;
        const auto next = std::min(timer, event);
        if (next >= scenario_.duration) break;
        time_ = next;
        if (event <= timer) {
            const auto what = plan_.top().what;
            plan_.pop();
            what();
        } else {
            engine_.timer(now(), out_);
        }
        perform();
    }
    time_ = scenario_.duration;
    chronicle_.end();
}

void World::perform() {
    // What is done only plans; the engine is not called from here, so its views stay good.
    for (const q::Action& action : out_.list) std::visit([&](const auto& a) { does(a); }, action);
    out_.clear();
}

// ---- mail ----

std::uint32_t World::place(const std::string& domain) {
    const auto [at, is_new] = places_by_name_.try_emplace(domain, static_cast<std::uint32_t>(places_.size()));
    if (!is_new) return at->second;
    if (config_.is_local(domain)) {
        places_.push_back({domain, std::string(local_store), 0, true});
    } else {
        const auto found = route(domain);
        places_.push_back({domain, std::string(found.reason ? nowhere : found.link), 0, false});
    }
    return at->second;
}

void World::arrive(const Traffic& traffic, std::size_t turn) {
    if (time_ >= traffic.until) return;
    const auto gap = std::chrono::duration_cast<smtp::Duration>(3600s) / traffic.messages;
    later(std::max(smtp::Duration(1),
                   std::chrono::duration_cast<smtp::Duration>(gap * (0.5 + random_.fraction()))),
          [this, &traffic, turn] { arrive(traffic, turn + 1); });
    const auto& domain = traffic.domains[turn % traffic.domains.size()];
    messages_.push_back({place(domain), time_, smtp::Duration(-1), false});
    auto& to = places_[messages_.back().domain];
    ++to.queued;
    chronicle_.accepted(to.link, time_);
    q::Accepted event;
    event.id = spool::QueueId{messages_.size() << 8};
    event.size = 4096;
    event.arrival = now().wall;
    event.lane = traffic.lane;
    event.submitter = traffic.name;
    engine_.accepted(event, now(), out_);
}

void World::does(const q::AskCategorizer& a) {
    later(1ms, [this, id = a.id] {
        const auto& to = places_[message(id).domain];
        const q::FinalRecipient recipient{0, to.local ? q::Fate::local : q::Fate::remote,
                                          to.local ? local_store : std::string_view(to.name), 0, nullptr};
        engine_.categorized({id, {&recipient, 1}}, now(), out_);
    });
}

void World::does(const q::MakeReport& a) {
    auto& to = places_[message(a.id).domain];
    if (a.kind == q::ReportKind::failed) {
        if (to.queued > 0) --to.queued;
        chronicle_.reported(to.link, time_);
    } else if (a.kind == q::ReportKind::delayed) {
        chronicle_.noticed(to.link, time_);
    }
    later(5ms, [this, request = a.request] {
        q::Reported event;
        event.request = request;
        engine_.reported(event, now(), out_);
    });
}

// ---- names and routes ----

const Trouble* World::trouble_of(const std::string& domain) const {
    for (const auto& trouble : scenario_.troubles)
        if (trouble.how == Ailment::no_dns && time_ >= trouble.from && time_ < trouble.until() &&
            std::ranges::find(trouble.domains, domain) != trouble.domains.end())
            return &trouble;
    return nullptr;
}

const Trouble* World::trouble_of(const Server& server) const {
    for (const auto& trouble : scenario_.troubles)
        if (trouble.how != Ailment::no_dns && time_ >= trouble.from && time_ < trouble.until() &&
            std::ranges::any_of(
                trouble.hosts, [&](const HostName& h) { return h.covers(server.at.name, server.at.port); }))
            return &trouble;
    return nullptr;
}

World::Server& World::server(const decide::Host& host) {
    const auto [at, is_new] = servers_.try_emplace({host.name, host.port});
    if (is_new) at->second = {host, &scenario_.host(host.name, host.port)};
    at->second.used = true;
    return at->second;
}

// As the router would answer; the strings it names live in links_ and in the reasons above.
q::Routed World::route(const std::string& domain) {
    using decide::Destination;
    q::Routed event;
    event.valid = 1h;
    const auto* rule = routes_.find(domain);
    auto kind = Destination::Kind::mx;
    std::vector<decide::Host> hosts;
    std::string mx_of = domain;
    std::uint16_t port = 25;
    if (rule && rule->next_hops.front().front().kind == decide::NextHop::Kind::host) {
        kind = Destination::Kind::configured;
        std::uint16_t preference = 0;
        for (const auto& equals : rule->next_hops) {
            for (const auto& hop : equals) hosts.push_back({hop.name, hop.port, preference});
            preference = static_cast<std::uint16_t>(preference + 10);
        }
        event.connections = rule->connections;
    } else {
        if (rule) {
            const auto& hop = rule->next_hops.front().front();
            if (hop.kind == decide::NextHop::Kind::mx_of) mx_of = hop.name;
            port = hop.port;
            event.connections = rule->connections;
        }
        if (trouble_of(mx_of)) {
            event.kind = q::RouteKind::temporary;
            event.reason = &no_name;
            return event;
        }
        const auto* known = scenario_.domain(mx_of);
        std::uint16_t preference = 10;
        if (known)
            for (const auto& mx : known->mx) hosts.push_back({mx, port, preference}), preference += 10;
        if (hosts.empty()) hosts.push_back({"mx." + mx_of, port, preference});
    }
    const auto name = decide::link_name(kind, hosts);
    event.kind = kind == Destination::Kind::mx ? q::RouteKind::mx : q::RouteKind::configured;
    event.link = links_.insert_or_assign(name, std::move(hosts)).first->first;
    return event;
}

void World::does(const q::AskRoute& a) {
    later(20ms, [this, domain = std::string(a.domain)] {
        auto event = route(domain);
        event.domain = domain;
        auto& to = places_[place(domain)];
        if (event.reason) {
            chronicle_.state(to.link, time_, "no route",
                             fmt::format("{} leads nowhere: {}", domain, event.reason->text));
        } else if (to.link != event.link) {
            if (to.link == nowhere) chronicle_.state(to.link, time_, "ready", "look-ups succeed again");
            chronicle_.moved(to.link, std::string(event.link), time_, to.queued);
            to.link = event.link;
        }
        engine_.routed(event, now(), out_);
    });
}

// ---- connections ----

smtp::Duration World::about(smtp::Duration usual) {
    return std::chrono::duration_cast<smtp::Duration>(usual * (0.8 + 0.4 * random_.fraction()));
}

void World::does(const q::OpenConnection& a) {
    Connection c;
    c.local = a.agent == local_agent;
    c.link = c.local ? std::string(local_store) : std::string(a.link);
    connections_.emplace(a.connection, std::move(c));
    later(1ms, [this, id = a.connection] { come_up(id); });
}

// Tries the link's hosts in order, as the smtp-client does.
void World::come_up(q::ConnectionId id) {
    auto& c = connections_.at(id);
    const auto ready = [this, id] {
        auto& c = connections_.at(id);
        c.up = true;
        engine_.connected(id, now(), out_);
        work(id);
    };
    if (c.local) return ready();
    smtp::Duration spent{};
    const q::Reason* why = &refused;
    auto push_back = q::PushBack::no;
    for (const auto& host : links_.at(c.link)) {
        Server& one = server(host);
        const auto* trouble = trouble_of(one);
        const auto how = trouble ? std::optional(trouble->how) : std::nullopt;
        push_back = q::PushBack::no;
        if (how == Ailment::silent) {
            spent += config_.smtp_client.connect_timeout;
            why = &timed_out;
        } else if (how == Ailment::refuses) {
            spent += 1ms;
            why = &refused;
        } else if (how == Ailment::busy ||
                   (one.manner->connections > 0 && one.open >= one.manner->connections)) {
            spent += about(one.manner->connect);
            why = &busy;
            push_back = q::PushBack::yes;
        } else {
            c.server = &one;
            ++one.open;
            return later(spent + about(one.manner->connect), [this, id, ready] {
                if (connections_.contains(id)) ready();
            });
        }
    }
    later(spent, [this, id, why, push_back] {
        if (connections_.contains(id)) fail(id, *why, q::Phase::connecting, push_back);
    });
}

void World::fail(q::ConnectionId id, const q::Reason& reason, q::Phase phase, q::PushBack push_back) {
    q::Closed how;
    how.failed = true;
    how.was_up = connections_.at(id).up;
    how.phase = phase;
    how.push_back = push_back;
    how.reason = &reason;
    chronicle_.try_failed(connections_.at(id).link, time_);
    end_connection(id, how);
}

// Its own event: the engine hears one thing at a time.
void World::break_off(q::ConnectionId id) {
    connections_.at(id).busy = true;
    later(0s, [this, id] {
        if (connections_.contains(id)) fail(id, lost, q::Phase::session, q::PushBack::no);
    });
}

void World::end_connection(q::ConnectionId id, const q::Closed& how) {
    const auto at = connections_.find(id);
    if (at->second.server) --at->second.server->open;
    connections_.erase(at);
    auto event = how;
    event.connection = id;
    engine_.closed(event, now(), out_);
}

void World::does(const q::CloseConnection& a) {
    later(1ms, [this, id = a.connection] {
        if (!connections_.contains(id)) return;
        q::Closed how;
        how.was_up = connections_.at(id).up;
        end_connection(id, how);
    });
}

void World::does(const q::Deliver& a) {
    connections_.at(a.connection).deliveries.push_back({a.delivery, a.id});
    later(0s, [this, id = a.connection] { work(id); });
}

void World::work(q::ConnectionId id) {
    const auto at = connections_.find(id);
    if (at == connections_.end()) return;
    auto& c = at->second;
    if (!c.up || c.busy || c.deliveries.empty()) return;
    c.busy = true;
    later(c.local ? smtp::Duration(local_transaction) : about(c.server->manner->transaction), [this, id] {
        if (connections_.contains(id)) answer(id);
    });
}

// What the server says to the message at hand.
void World::answer(q::ConnectionId id) {
    auto& c = connections_.at(id);
    c.busy = false;
    const auto delivery = c.deliveries.front();
    c.deliveries.pop_front();
    auto& m = message(delivery.message);
    auto& to = places_[m.domain];
    q::Result result;
    const auto* trouble = c.server ? trouble_of(*c.server) : nullptr;
    const auto refuse = [&](q::Outcome outcome, decide::FailureKind kind, const q::Reason& reason) {
        result.outcome = outcome;
        result.kind = kind;
        result.reason = &reason;
    };
    if (m.first_try < 0s) {
        m.first_try = time_;
        m.unknown = c.server && random_.fraction() < c.server->manner->unknown;
    }
    const bool drops = trouble && trouble->how == Ailment::drops;
    if (drops)
        refuse(q::Outcome::deferred, decide::FailureKind::message, lost);
    else if (trouble && trouble->how == Ailment::defers)
        refuse(q::Outcome::deferred, decide::FailureKind::message, try_later);
    else if (trouble && trouble->how == Ailment::rejects)
        refuse(q::Outcome::failed, decide::FailureKind::message, no_thanks);
    else if (m.unknown)
        refuse(q::Outcome::failed, decide::FailureKind::recipient, no_such_user);
    else if (c.server && time_ - m.first_try < c.server->manner->greylist)
        refuse(q::Outcome::deferred, decide::FailureKind::recipient, put_off);
    if (result.outcome == q::Outcome::delivered) {
        if (to.queued > 0) --to.queued;
        chronicle_.delivered(to.link, time_, time_ - m.accepted);
    } else {
        chronicle_.try_failed(to.link, time_);
    }
    q::Done event;
    event.connection = id;
    event.delivery = delivery.id;
    event.id = delivery.message;
    event.results = {&result, 1};
    event.dropped = drops;
    engine_.done(event, now(), out_);
    if (drops) return break_off(id);
    work(id);
}

void World::does(const q::NoticeLink& a) {
    std::string name(a.link.starts_with("store:") ? local_store : a.link);
    std::string what;
    if (a.health == q::Health::ready)
        what = "well again";
    else
        what = fmt::format("in {} after {} failure{}: {}; next try at {}", word_of(a.health), a.failures,
                           a.failures == 1 ? "" : "s", a.reason ? a.reason->text : "",
                           clock_text(a.next_attempt.time_since_epoch() - wall_begin));
    chronicle_.state(name, time_, word_of(a.health), std::move(what));
}

std::vector<std::string> World::untouched() const {
    std::vector<std::string> names;
    const auto host = [&](const HostName& h) {
        if (std::ranges::none_of(servers_,
                                 [&](const auto& s) { return h.covers(s.first.first, s.first.second); }))
            names.push_back("host " + h.to_string());
    };
    const auto domain = [&](const std::string& d) {
        const bool mx_of = std::ranges::any_of(config_.routes, [&](const auto& rule) {
            const auto& hop = rule.next_hops.front().front();
            return hop.kind == decide::NextHop::Kind::mx_of && hop.name == d;
        });
        if (!places_by_name_.contains(d) && !mx_of) names.push_back("domain " + d);
    };
    for (const auto& h : scenario_.hosts) host(h.name);
    for (const auto& d : scenario_.domains) domain(d.name);
    for (const auto& trouble : scenario_.troubles) {
        for (const auto& h : trouble.hosts) host(h);
        for (const auto& d : trouble.domains) domain(d);
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return names;
}

} // namespace postrider::simulate
