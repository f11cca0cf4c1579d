#include "daemons/queue-manager/queue_manager.h"
#include "daemons/common/config/config.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/submission/address_map.h"
#include "daemons/queue-manager/control/configured_names.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include "daemons/queue-manager/engine_driver/health_snapshot.h"
#include "daemons/queue-manager/spool/space_obstacle.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <utility>

namespace queue_manager {

using namespace std::chrono_literals;
using common::Loop;
using proto::Role;

namespace {

constexpr auto drain_pause = 10ms;

std::uint64_t fresh_seed() {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32 | device();
}

} // namespace

spool::Result<std::unique_ptr<QueueManager>> QueueManager::create(common::DaemonContext& context,
                                                                  common::DaemonConfig daemon_config) {
    auto disk = TRY(spool::RealDisk::open_at(daemon_config.config.spool.directory));
    disk->watch_syncs([&metrics = context.metrics](std::chrono::nanoseconds took) {
        metrics.observe(common::MetricId::sync_seconds, std::chrono::duration_cast<smtp::Duration>(took));
    });
    std::unique_ptr<QueueManager> self(new QueueManager(context, daemon_config.config, std::move(disk)));
    self->handed_ = std::move(daemon_config.listeners);
    self->expected_ = std::move(daemon_config.expected);
    self->operators_ = daemon_config.operators;
    self->lock_.take();
    return self;
}

// Parts that are built later are only referred to here: none of them is used before all of them exist.
QueueManager::QueueManager(common::DaemonContext& context, const config::Config& config,
                           std::unique_ptr<spool::RealDisk> disk)
    : context_(context), log_(context.log), config_(config), disk_(std::move(disk)),
      wake_(context.loop, [this] { pool_.drain(); }), journal_files_(*disk_, config.history),
      pool_(*disk_, config.spool.sync_threads, [this] { wake_.signal(); }),
      turn_(context.loop, [this] { end_of_turn(); }), journal_(journal_dependencies(), config.history),
      loader_(
          pool_, [this] { turn_.schedule(); },
          [this](spool::QueueId id, const std::string& why) {
              if (!why.empty()) log_.error("{}: its file cannot be read: {}", id.text(), why);
              problems_.report("reading", why.empty() ? "" : id.text() + ": its file cannot be read: " + why);
          },
          [this](spool::QueueId id, spool::Location location) { return store_.hint(id, location); }),
      keys_(context.loop, log_, pool_, config.idempotency, config.spool.directory,
            [this](std::string text) { problems_.report("idempotency", std::move(text)); }),
      cleaner_(context.loop, log_, *disk_, pool_,
               [this](std::string text) { problems_.report("moved aside", std::move(text)); }),
      finished_(context.loop, log_, pool_, finished_messages_, problems_,
                config.history.enabled ? FinishedLog::short_pause : FinishedLog::usual_pause),
      files_({.loop = context.loop,
              .log = log_,
              .store = store_,
              .scanner = scanner_,
              .finished = finished_,
              .keys = keys_,
              .cleaner = cleaner_,
              .reserve = reserve_,
              .problems = problems_,
              .written = [this] { turn_.schedule(); },
              .when_recorded = [this](auto task) { journal_.when_durable(std::move(task)); },
              .put_aside = [this](spool::QueueId id,
                                  std::string_view why) { events_.removed(id, {}, "queue-manager", why); }}),
      driver_(context.loop, engine_settings(config), fresh_seed(), driver_callbacks()),
      suppression_checks_({.log = log_,
                           .config = config_,
                           .driver = driver_,
                           .pool = pool_,
                           .suppressions = suppressions_,
                           .files = files_,
                           .loader = loader_,
                           .undelivered = undelivered_}),
      intake_({.loop = context.loop,
               .log = log_,
               .driver = driver_,
               .store = store_,
               .files = files_,
               .loader = loader_,
               .scanner = scanner_,
               .keys = keys_,
               .events = events_,
               .problems = problems_,
               .keeps_failed = [this] { return keeps_failed(); },
               .written = [this] { turn_.schedule(); },
               .being_moved = [this](spool::QueueId id, const spool::Transferring& how) { transfers_.found(id, how); },
               .known_now = [this](spool::QueueId id) { results_.message_known(id); }}),
      scrub_(context.loop, pool_,
             {[this](std::uint32_t& cursor) { return driver_.engine().next_message(cursor, Loop::now()); },
              [this] { return driver_.engine().counts().messages; },
              [this](spool::QueueId id, const std::string& why) { intake_.found_damaged(id, why); }}),
      route_query_({[this](const auto& question) { return categorizer_.send(question) == ipc::SendResult::yes; },
                    [this](const auto& question) { return router_.send(question) == ipc::SendResult::yes; }}),
      categorizer_({.loop = context.loop,
                    .log = log_,
                    .config = config_,
                    .driver = driver_,
                    .files = files_,
                    .loader = loader_,
                    .undelivered = undelivered_,
                    .events = events_,
                    .filters = content_filters_,
                    .route_query = route_query_,
                    .any_suppressions = [this] { return suppressions_.any(); }}),
      router_({.loop = context.loop, .log = log_, .config = config_, .driver = driver_, .route_query = route_query_}),
      reports_({.loop = context.loop,
                .log = log_,
                .driver = driver_,
                .files = files_,
                .loader = loader_,
                .reserve = reserve_,
                .cleaner = cleaner_}),
      results_({.log = log_,
                .metrics = context.metrics,
                .config = config_,
                .driver = driver_,
                .agents = agents_,
                .files = files_,
                .loader = loader_,
                .scanner = scanner_,
                .suppressions = suppression_checks_,
                .events = events_,
                .probes = probes_,
                .resting = resting_,
                .too_late_to_cancel = [this](spool::QueueId id) { stops_.too_late(id); },
                .returned = [this] { turn_.schedule(); }}),
      writers_({.loop = context.loop,
                .driver = driver_,
                .intake = intake_,
                .scanner = scanner_,
                .store = store_,
                .events = door_events_,
                .delivering = [this] { return not_delivering().empty(); }}),
      executor_({.log = log_,
                 .metrics = context.metrics,
                 .store = store_,
                 .files = files_,
                 .loader = loader_,
                 .undelivered = undelivered_,
                 .events = events_,
                 .system_events = system_events_,
                 .suppressions = suppression_checks_,
                 .categorizer = categorizer_,
                 .router = router_,
                 .reports = reports_,
                 .agents = orders_,
                 .rates = rates_,
                 .keeps_failed = [this] { return keeps_failed(); }}),
      transfers_({.loop = context.loop,
                  .log = log_,
                  .driver = driver_,
                  .files = files_,
                  .loader = loader_,
                  .events = events_,
                  .problems = problems_,
                  .metrics = context.metrics,
                  .is_node = [this](const std::string& name) { return is_node(name); }}),
      key_records_({.loop = context.loop, .pool = pool_, .keys = keys_, .spool = config.spool.directory}),
      verification_(verification_dependencies(), config.verify) {
    pauses_.name_transfers([this](spool::QueueId id) { return transfers_.text_of(id); });
    mode_notices_.announce(config);
    journal_backlog_.configure(config.history);
    cleaner_.limit(config_->spool, config_->history);
    using decide::queue::Presence;
    for (auto service :
         {decide::queue::Service::categorizer, decide::queue::Service::router, decide::queue::Service::bounce})
        driver_.tell(
            [&](auto& engine, smtp::Now now, auto& out) { engine.service(service, Presence::down, now, out); });
}

QueueManager::~QueueManager() = default;

// ---- how the parts are connected ----

Suppressions::Dependencies QueueManager::suppression_dependencies() {
    return {.loop = context_.loop,
            .pool = pool_,
            .spool = config_->spool.directory,
            .report_problem =
                [this](std::string text) {
                    if (!text.empty() && !problems_.contains("suppression", text)) log_.critical("{}", text);
                    problems_.report("suppression", std::move(text));
                },
            .added =
                [this](std::span<const decide::Suppression> entries) {
                    system_events_.suppression(SystemEvents::Change::set, entries);
                    suppression_checks_.added(entries);
                },
            .removed =
                [this](std::span<const decide::Suppression> entries) {
                    system_events_.suppression(SystemEvents::Change::cleared, entries);
                },
            .changed = [this](bool any) { categorizer_.send(proto::categorize::Suppressions{any}); },
            .to_share = [this] { fleet_.to_share(); }};
}

Journal::Dependencies QueueManager::journal_dependencies() {
    return {.loop = context_.loop,
            .log = log_,
            .metrics = context_.metrics,
            .pool = pool_,
            .files = journal_files_,
            .report_failure = [this](std::string why) { journal_backlog_.failing(std::move(why)); },
            .pause_deliveries = [this](bool too_much_waits) { journal_backlog_.changed(too_much_waits); }};
}

SpoolScanner::Callbacks QueueManager::scanner_callbacks() {
    return {.found = [this](spool::Found&& message) { intake_.found(std::move(message)); },
            .put_aside = [this](const spool::QuarantinedFile& aside) { intake_.set_aside(aside); },
            .unreadable = [this](const spool::Error& error) { intake_.unreadable(error); },
            .all_loaded = [this] { all_loaded(); },
            .finished_before =
                [this](spool::QueueId id) {
                    log_.info("{}: was finished before the machine stopped: removed, not delivered again", id.text());
                },
            .unread = [this] { intake_.scan_again_later(); }};
}

EngineDriver::Callbacks QueueManager::driver_callbacks() {
    return {.execute = [this](const decide::queue::Action& action, const decide::queue::Actions& all,
                              const EventContext& event, smtp::Now now) { executor_.execute(action, all, event, now); },
            .executed =
                [this] {
                    undelivered_.write();
                    turn_.schedule();
                }};
}

Agents::Callbacks QueueManager::agent_callbacks() {
    return {[this](decide::queue::AgentId id, AgentKind kind) { results_.attached(id, kind); },
            [this](decide::queue::AgentId id, decide::queue::AgentExit how) { results_.gone(id, how); },
            [this](decide::queue::AgentId id, AgentKind kind, proto::delivery::Message&& message) {
                results_.handle(id, kind, std::move(message));
            }};
}

DeliveryProbes::Dependencies QueueManager::probe_dependencies() {
    return {
        .query_route = [this](const std::string& address, const std::string& reverse_path,
                              RouteQuery::Done done) { query_route(address, reverse_path, std::move(done)); },
        .connect =
            [this](const proto::route::Routed& route) {
                return orders_.connect_to(route.link, LinkHosts::of(route), Loop::now());
            },
        .send =
            [this](const proto::delivery::Probe& order) {
                const auto agent = agents_.any(AgentKind::smtp);
                const bool sent = agent && agents_.send(*agent, order) == ipc::SendResult::yes;
                return sent ? agent : std::nullopt;
            },
        .end = [this](DeliveryProbes::AgentId agent,
                      const proto::delivery::EndProbe& order) { agents_.send(agent, order); },
        .obstacles = [this](const proto::route::Routed& route) { return pauses_.obstacles(route, driver_.engine()); },
        .agent_user = [this] { return agent_user(*config_); },
    };
}

// From the pool of source addresses that mail of that sender has.
void QueueManager::query_route(const std::string& address, const std::string& reverse_path, RouteQuery::Done done,
                               RouteQuery::RoutesWanted wanted) {
    const auto* pool =
        common::find_by_address(config_->pool_choice.by_sender, reverse_path, config_->local.recipient_delimiter);
    route_query_.ask(address, pool ? *pool : "", std::move(done), std::move(wanted));
}

AddressVerification::Dependencies QueueManager::verification_dependencies() {
    return {.loop = context_.loop,
            .log = log_,
            .metrics = context_.metrics,
            .probes = probes_,
            .query_route =
                [this](const std::string& address, const std::string& reverse_path, RouteQuery::Done done,
                       RouteQuery::RoutesWanted wanted) {
                    query_route(address, reverse_path, std::move(done), std::move(wanted));
                },
            .obstacle =
                [this](const proto::route::Routed& route) {
                    auto why = not_delivering();
                    if (!why.empty()) return why;
                    auto all = pauses_.obstacles(route, driver_.engine());
                    return all.empty() ? std::string() : std::move(all.front());
                },
            .store = {.loop = context_.loop,
                      .log = log_,
                      .pool = pool_,
                      .directory = config::Verify::directory(config_->spool.directory),
                      .report_problem =
                          [this](std::string text) { problems_.report("verified addresses", std::move(text)); },
                      .read = {}}};
}

DeliveryStops::Dependencies QueueManager::stop_dependencies() {
    return {.in_flight =
                [this](spool::QueueId id) {
                    const auto info = driver_.engine().message(id, Loop::now());
                    return info && info->active;
                },
            .stop =
                [this](spool::QueueId id) {
                    driver_.tell([&](auto& engine, smtp::Now now, auto& out) {
                        engine.hold(id, now, out);
                        engine.cancel(id, now, out);
                    });
                },
            .go_on =
                [this](spool::QueueId id) {
                    if (transfers_.moves(id)) return;
                    driver_.tell([&](auto& engine, smtp::Now now, auto& out) { engine.release(id, now, out); });
                }};
}

FleetLink::Dependencies QueueManager::fleet_dependencies() {
    return {.loop = context_.loop,
            .pool = pool_,
            .suppressions = suppressions_,
            .rates = rates_,
            .facts =
                [this] {
                    return proto::fleet::Facts{.messages = driver_.engine().counts().messages,
                                               .accepting = not_accepting().empty(),
                                               .delivering = not_delivering().empty()};
                },
            .local_domains = [this] { return config_->local.domains; }};
}

bool QueueManager::is_node(const std::string& name) const {
    return std::ranges::find(config_->nodes, name, &config::Node::name) != config_->nodes.end();
}

// ---- start ----

void QueueManager::begin() {
    reserve_.open(*disk_, config_->spool.reserve);
    auto take = [this](std::string_view name) {
        auto found = std::ranges::find(handed_, name, &common::InheritedListener::name);
        return found == handed_.end() ? common::Fd() : std::move(found->fd);
    };
    listener_ = std::make_unique<ipc::Listener>(context_.loop, log_, take("queue-manager"), expected_);
    serve_peers();
    listing_ = std::make_unique<Listing>(context_.loop, log_, pool_, take("showq"), [this](std::uint32_t& cursor) {
        auto info = driver_.engine().next_message(cursor, Loop::now());
        if (info) pauses_.set_reasons(*info);
        return info;
    });
    journal_.begin();
    keys_.begin();
    suppressions_.open();
    suppressions_.share(config_->fleet.enabled());
    if (!config_->access.empty()) verification_.begin();
    auto recalled = recall_snapshot(*disk_, log_);
    router_.restore(std::move(recalled.links));
    if (recalled.health)
        driver_.tell([&](auto& engine, smtp::Now now, auto& out) { engine.restore(*recalled.health, now, out); });
    recall_pauses();
    if (auto fd = take("control"))
        control_ = std::make_unique<Control>(
            Control::Dependencies{
                .loop = context_.loop,
                .log = log_,
                .config = config_,
                .driver = driver_,
                .pool = pool_,
                .files = files_,
                .intake = intake_,
                .journal = journal_,
                .events = events_,
                .system_events = system_events_,
                .suppressions = suppressions_,
                .pauses = pauses_,
                .stops = stops_,
                .route_query = route_query_,
                .probes = probes_,
                .verification = verification_,
                .resting = resting_,
                .transfers = transfers_,
                .recent = recent_,
                .problems = problems_,
                .is_node = [this](const std::string& name) { return is_node(name); },
                .refuse_mail =
                    [this](const std::string& why) { writers_.refuse_mail(MessageWriters::Refusal::drain, why); },
                .status = [this] { return queue_status(); },
                .http_content = [this] { return config_->http.content; }},
            std::move(fd), operators_);
    handed_.clear();
    if (!recalled.first.empty())
        log_.info("spool: messages that were due next at the last stop are read first: {} messages",
                  recalled.first.size());
    scanner_.load_everything(std::move(recalled.first), finished_.open());
}

void QueueManager::serve_peers() {
    listener_->serve<proto::submission::Message>(
        proto::submission::conversation, {Role::smtpd, Role::pickup, Role::bounce},
        [this](ipc::Peer peer, auto channel) { writers_.attach(peer, std::move(channel)); });
    listener_->serve<proto::delivery::Message>(
        proto::delivery::conversation, {Role::smtp_client, Role::local},
        [this](ipc::Peer peer, auto channel) { agents_.attach(peer, std::move(channel)); });
    listener_->serve<proto::categorize::Message>(
        proto::categorize::conversation, {Role::categorizer},
        [this](ipc::Peer, auto channel) { categorizer_.attach(std::move(channel)); });
    listener_->serve<proto::route::Message>(proto::route::conversation, {Role::router},
                                            [this](ipc::Peer, auto channel) { router_.attach(std::move(channel)); });
    listener_->serve<proto::report::Message>(proto::report::conversation, {Role::bounce},
                                             [this](ipc::Peer, auto channel) { reports_.attach(std::move(channel)); });
    listener_->serve<proto::transfer::Message>(
        proto::transfer::conversation, {Role::transfer},
        [this](ipc::Peer, auto channel) { transfers_.attach(std::move(channel)); });
    listener_->serve<proto::fleet::Message>(proto::fleet::conversation, {Role::fleet},
                                            [this](ipc::Peer, auto channel) { fleet_.attach(std::move(channel)); });
    listener_->serve<proto::key_records::Message>(
        proto::key_records::conversation, {Role::fleet},
        [this](ipc::Peer, auto channel) { key_records_.attach(std::move(channel)); });
    listener_->serve<proto::verification::Message>(
        proto::verification::conversation, {Role::smtpd},
        [this](ipc::Peer, auto channel) { verification_.attach(std::move(channel)); });
    listener_->serve<proto::relayed_control::Message>(proto::relayed_control::conversation, {Role::http},
                                                      [this](ipc::Peer, auto channel) {
                                                          if (control_) control_->attach(std::move(channel));
                                                      });
}

void QueueManager::recall_pauses() {
    auto pauses = load_pauses(*disk_);
    if (!pauses) {
        const auto& why = pauses.error().what;
        log_.critical("pauses: {}: all delivery is paused; set the pauses again, then run \"postrider resume all\"",
                      why);
        problems_.report("pauses", "the earlier pauses are not known (" + why + "): everything is paused");
        pauses = Pauses{{decide::queue::Scope::everything, "", "queue-manager", why, Loop::now().wall}};
    }
    for (const Pause& each : *pauses)
        driver_.tell([&](auto& engine, smtp::Now now, auto& out) { engine.pause(each.scope, each.name, now, out); });
    pauses_.replace(*std::move(pauses));
}

void QueueManager::all_loaded() {
    results_.spool_loaded();
    log_.info("spool: loaded: {} messages", driver_.engine().counts().messages);
    keys_.all_seen();
    pool_.post([] { common::give_memory_back(); }); // takes a while with a million messages
    listing_->serve();
    scrub_.every(config_->spool.scrub_interval);
    cleaner_.soon();
}

// ---- while running ----

void QueueManager::end_of_turn() {
    loader_.begin();
    stops_.look();
    store_.flush();
    driver_.arm_timer();
}

void QueueManager::reconfigure(common::DaemonConfig daemon_config) {
    config_.replace(daemon_config.config);
    categorizer_.configured();
    journal_.reconfigure(daemon_config.config.history);
    journal_backlog_.configure(daemon_config.config.history);
    if (listener_) system_events_.reloaded();
    cleaner_.limit(config_->spool, config_->history);
    keys_.reconfigure(daemon_config.config.idempotency);
    suppressions_.share(daemon_config.config.fleet.enabled());
    verification_.configure(daemon_config.config.verify);
    if (listener_) {
        listener_->expect(std::move(daemon_config.expected)); // the sockets themselves do not change
    } else {
        handed_ = std::move(daemon_config.listeners);
        expected_ = std::move(daemon_config.expected);
    }
    driver_.tell(
        [&](auto& engine, smtp::Now now, auto& out) { engine.configure(engine_settings(*config_), now, out); });
    mode_notices_.announce(*config_);
    driver_.tell([](auto& engine, smtp::Now now, auto& out) { engine.routes_changed(now, out); });
    if (listener_) transfers_.configured();
    if (!listener_ || scanner_.loading()) return;
    scrub_.every(config_->spool.scrub_interval);
    cleaner_.soon();
}

void QueueManager::process_ended(const std::string& role, std::uint32_t instance, bool crashed) {
    agents_.process_ended(role, instance, crashed);
}

// ---- stop ----

void QueueManager::stop(smtp::Duration within, std::function<void()> done) {
    stopping_ = true;
    writers_.stop();
    lock_.stop();
    journal_backlog_.stop();
    scrub_.every(0s);
    suppressions_.flush();
    verification_.stop();
    store_.leave_reused_files();
    driver_.tell([](auto& engine, smtp::Now now, auto& out) {
        engine.pause(decide::queue::Scope::everything, "", now, out); // results of what is in flight still arrive
    });
    drain_then(Loop::now().monotonic + within - within / 10, std::move(done));
}

void QueueManager::drain_then(smtp::Monotonic until, std::function<void()> done) {
    files_.write_all();
    store_.flush();
    const bool recorded = journal_.drain();
    const bool idle = driver_.engine().counts().active == 0 && store_.outstanding() == 0 && recorded;
    if (idle || Loop::now().monotonic >= until) {
        journal_.finish();
        store_.flush();
        save_state();
        return done();
    }
    // Renewed from within the timer's own callback: a new one replaces it once the turn has ended.
    context_.loop.defer([this, until, done = std::move(done)] {
        stopper_ = std::make_unique<common::Timer>(context_.loop, [this, until, done] { drain_then(until, done); });
        stopper_->start(drain_pause);
    });
}

void QueueManager::save_state() {
    if (!lock_.held()) return;
    finished_.finish();
    if (const auto saved = save_snapshot(*disk_, driver_.engine(), router_.links(), Loop::now()); !saved)
        log_.warning("index/snapshot: {}: links and queues will start without their history next time",
                     saved.error().what);
}

// ---- status ----

std::string QueueManager::not_accepting() const {
    if (stopping_) return "postrider is stopping";
    if (!writers_.any()) return "no process that accepts mail is connected (smtpd, pickup)";
    if (auto full = space_obstacle(*disk_, config_->spool); !full.empty()) return full;
    return writers_.obstacle();
}

std::string QueueManager::not_delivering() const {
    if (stopping_) return "postrider is stopping";
    if (const auto paused = pauses_.everything()) return *paused;
    if (const auto obstacle = journal_backlog_.obstacle(); !obstacle.empty()) return std::string(obstacle);
    if (agents_.empty()) return "no delivery agent is connected";
    if (!router_.present()) return "the router is not connected";
    if (!categorizer_.present()) return "the categorizer is not connected";
    return "";
}

bool QueueManager::keeps_failed() const { return config_->history.keep_failed > smtp::Duration::zero(); }

QueueStatus QueueManager::queue_status() {
    const auto now = Loop::now();
    QueueStatus out;
    out.loading = scanner_.loading();
    out.stopping = stopping_;
    out.not_accepting = not_accepting();
    out.not_delivering = not_delivering();
    out.in = intake_.rate().per_second(now.monotonic);
    out.in_by_minute = intake_.rate().by_minute(now.monotonic);
    out.out = executor_.removed().per_second(now.monotonic);
    out.out_by_minute = executor_.removed().by_minute(now.monotonic);
    out.services = {
        {"categorizer", categorizer_.present()}, {"router", router_.present()}, {"bounce", reports_.present()}};
    out.problems = problems_.texts();
    for (const auto& place : cleaner_.places()) out.put_aside.push_back(place);
    return out;
}

std::string QueueManager::status_text() {
    const auto now = queue_status();
    const auto counts = driver_.engine().counts();
    std::string text = fmt::format("{} message{} queued{}", counts.messages, counts.messages == 1 ? "" : "s",
                                   now.loading ? " so far, reading the spool" : "");
    if (counts.active > 0) text += fmt::format(", {} being delivered", counts.active);
    if (!now.not_accepting.empty()) text += "; accepting no mail: " + now.not_accepting;
    if (!now.not_delivering.empty()) text += "; delivering nothing: " + now.not_delivering;
    return text;
}

void QueueManager::update_gauges(common::Metrics& metrics) {
    using common::MetricId;
    const auto now = queue_status();
    metrics.set(MetricId::queue_loading, now.loading);
    metrics.set(MetricId::accepting, now.not_accepting.empty());
    metrics.set(MetricId::delivering, now.not_delivering.empty());
    metrics.set(MetricId::transfers_in_doubt, static_cast<std::int64_t>(transfers_.in_doubt()));
    metrics.set(MetricId::verified_addresses, static_cast<std::int64_t>(verification_.size()));
    metrics.set(MetricId::journal_waiting, static_cast<std::int64_t>(journal_.waiting()));
    spool_gauges_.take(*disk_, cleaner_, metrics);
    queue_metrics_.take(driver_.engine(), config_->metrics.links, metrics);
}

} // namespace queue_manager
