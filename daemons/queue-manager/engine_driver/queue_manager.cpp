#include "daemons/queue-manager/engine_driver/queue_manager.h"
#include "daemons/common/config/config.h"
#include "daemons/common/process/privileges.h"
#include "daemons/queue-manager/conversion/accepted_message.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <random>

namespace queue_manager {

using namespace std::chrono_literals;
using common::Loop;
using proto::Role;

namespace {

// What is delivered lies in the spool for so long at most: after a crash within that time it goes out twice.
constexpr auto gather_for = 5ms;

constexpr smtp::Duration removal_pause = 5s;

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
    self->take_lock();
    return self;
}

QueueManager::QueueManager(common::DaemonContext& context, const config::Config& config,
                           std::unique_ptr<spool::RealDisk> disk)
    : context_(context), log_(context.log), config_(&config), disk_(std::move(disk)),
      wake_(context.loop, [this] { pool_.drain(); }),
      pool_(*disk_, config.spool.sync_threads, [this] { wake_.signal(); }), store_(pool_),
      readings_(
          pool_, [this] { turn_.schedule(); },
          [this](spool::QueueId id, const std::string& why) {
              if (!why.empty()) log_.error("{}: its file cannot be read: {}", id.text(), why);
              report_problem("reading", why.empty() ? "" : id.text() + ": its file cannot be read: " + why);
          }),
      scanner_(pool_, {[this](spool::Found&& message) { found(std::move(message)); },
                       [this](const spool::QuarantinedFile& aside) { put_aside(aside); },
                       [this](const spool::Error& error) {
                           log_.error("spool: {}: left where it is", error.what);
                           report_problem("spool", error.what);
                       },
                       [this] { all_loaded(); },
                       [this] {
                           if (reading_retry_.armed()) return;
                           reading_pause_ = std::clamp<smtp::Duration>(2 * reading_pause_, 1s, 1h);
                           reading_retry_.start(reading_pause_);
                       }}),
      idempotency_keys_(context.loop, log_, pool_, config,
                        [this](std::string text) { report_problem("idempotency", std::move(text)); }),
      engine_(engine_settings(config), fresh_seed(), Loop::now()),
      timer_(context.loop, [this] { with_engine([&](smtp::Now now, auto& out) { engine_.timer(now, out); }); }),
      turn_(context.loop, [this] { end_of_turn(); }), gathering_(context.loop, [this] { store_.flush(); }),
      pending_records_timer_(context.loop, [this] { write_pending_records(); }),
      lock_retry_(context.loop, [this] { take_lock(); }), unlock_retry_(context.loop,
                                                                        [this] {
                                                                            for (const auto& [id, location] : locked_)
                                                                                wait_for_agent(id, location);
                                                                        }),
      reserve_retry_(context.loop, [this] { restore_reserve(); }),
      removal_retry_(context.loop, [this] { retry_removals(); }),
      reading_retry_(context.loop, [this] { retry_unread(); }),
      unread_retry_(context.loop,
                    [this] {
                        for (const auto& [id, origin] : std::exchange(unread_, {})) read_submitted(id, origin);
                    }),
      scrub_(context.loop, pool_,
             {[this](std::uint32_t& cursor) { return engine_.next_message(cursor, Loop::now()); },
              [this] { return engine_.counts().messages; },
              [this](spool::QueueId id, const std::string& why) { found_damaged(id, why); }}),
      cleaner_(context.loop, log_, *disk_, pool_,
               [this](std::string text) { report_problem("put aside", std::move(text)); }),
      agents_(context.loop, log_,
              {[this](decide::queue::AgentId id, AgentKind kind) {
                   const bool local = kind == AgentKind::local;
                   const auto capacity =
                       local ? config_->queue.connections_local : config_->queue.connections_total;
                   with_engine([&](smtp::Now now, auto& out) {
                       engine_.agent_attached(
                           id, kind, capacity, now, out);
                   });
               },
               [this](decide::queue::AgentId id, decide::queue::AgentExit how) {
                   probes_.gone(id);
                   with_engine([&](smtp::Now now, auto& out) { engine_.agent_gone(id, how, now, out); });
               },
               [this](decide::queue::AgentId id, AgentKind kind, proto::delivery::Message&& message) {
                   handle_agent_message(id, kind, std::move(message));
               }}),
      categorizer_(context.loop,
                   {[this] {
                        categorizer_.ask(proto::categorize::Suppressions{suppressions_.any()});
                        with_engine([&](smtp::Now now, auto& out) {
                            engine_.service(decide::queue::Service::categorizer, decide::queue::Presence::up,
                                            now, out);
                        });
                    },
                    [this] {
                        subjects_.clear();
                        answer_parts_.forget();
                        route_query_.lost("categorizer");
                        with_engine([&](smtp::Now now, auto& out) {
                            engine_.service(decide::queue::Service::categorizer,
                                            decide::queue::Presence::down, now, out);
                        });
                    },
                    [this](proto::categorize::Message&& message) {
                        if (auto* answer = std::get_if<proto::categorize::Categorized>(&message))
                            if (const auto whole = answer_parts_.add(std::move(*answer))) categorized(*whole);
                    }}),
      router_(context.loop,
              {[this] {
                   with_engine([&](smtp::Now now, auto& out) {
                       engine_.service(decide::queue::Service::router, decide::queue::Presence::up, now, out);
                   });
               },
               [this] {
                   route_query_.lost("router");
                   with_engine([&](smtp::Now now, auto& out) {
                       engine_.service(decide::queue::Service::router, decide::queue::Presence::down, now, out);
                   });
               },
               [this](proto::route::Message&& message) {
                   if (auto* answer = std::get_if<proto::route::Routed>(&message))
                       routed(*answer);
                   else if (auto* changed = std::get_if<proto::route::StsChanged>(&message))
                       domains_.changed(changed->sts);
               }}),
      bounce_(context.loop,
              {[this] {
                   with_engine([&](smtp::Now now, auto& out) {
                       engine_.service(decide::queue::Service::bounce, decide::queue::Presence::up, now, out);
                   });
               },
               [this] {
                   reports_.clear();
                   with_engine([&](smtp::Now now, auto& out) {
                       engine_.service(decide::queue::Service::bounce, decide::queue::Presence::down, now, out);
                   });
               },
               [this](proto::report::Message&& message) {
                   if (auto* answer = std::get_if<proto::report::Reported>(&message)) reported(*answer);
               }}) {
    announce_modes();
    limit_put_aside();
    using decide::queue::Presence;
    for (auto service : {decide::queue::Service::categorizer, decide::queue::Service::router,
                         decide::queue::Service::bounce})
        with_engine([&](smtp::Now now, auto& out) { engine_.service(service, Presence::down, now, out); });
}

QueueManager::~QueueManager() = default;

// An earlier queue-manager may still be finishing (its master died): two must never work on one spool.
void QueueManager::take_lock() {
    auto file = disk_->open("run/queue-manager.lock", spool::Open::upsert);
    auto locked = file ? disk_->lock(*file, spool::Lock::exclusive)
                       : spool::Result<spool::Locked>(std::unexpected(file.error()));
    if (locked && *locked == spool::Locked::yes) {
        lock_ = std::move(*file);
        report_problem("lock", "");
        return begin();
    }
    const std::string why = locked ? "another queue-manager still works on this spool; waiting for it to end"
                                   : locked.error().what;
    if (!problems_.contains("lock")) log_.warning("run/queue-manager.lock: {}", why);
    report_problem("lock", why);
    lock_retry_.start(200ms);
}

void QueueManager::begin() {
    auto reserve = spool::Reserve::open(*disk_, config_->spool.reserve);
    if (reserve)
        reserve_.emplace(std::move(*reserve));
    else
        log_.warning("spool reserve: {}: there will be no room kept for reports when the disk is full",
                     reserve.error().what);
    auto take = [this](std::string_view name) {
        auto found = std::ranges::find(handed_, name, &common::InheritedListener::name);
        return found == handed_.end() ? common::Fd() : std::move(found->fd);
    };
    listener_ = std::make_unique<ipc::Listener>(context_.loop, log_, take("queue-manager"), expected_);
    listener_->serve<proto::submission::Message>(
        proto::submission::conversation, {Role::smtpd, Role::pickup, Role::bounce},
        [this](ipc::Peer peer, auto channel) { attach_writer(peer, std::move(channel)); });
    listener_->serve<proto::delivery::Message>(
        proto::delivery::conversation, {Role::smtp_client, Role::local},
        [this](ipc::Peer peer, auto channel) { agents_.attach(peer, std::move(channel)); });
    listener_->serve<proto::categorize::Message>(
        proto::categorize::conversation, {Role::categorizer},
        [this](ipc::Peer, auto channel) { categorizer_.attach(std::move(channel)); });
    listener_->serve<proto::route::Message>(
        proto::route::conversation, {Role::router},
        [this](ipc::Peer, auto channel) { router_.attach(std::move(channel)); });
    listener_->serve<proto::report::Message>(
        proto::report::conversation, {Role::bounce},
        [this](ipc::Peer, auto channel) { bounce_.attach(std::move(channel)); });
    listing_ =
        std::make_unique<Listing>(context_.loop, log_, pool_, take("showq"), [this](std::uint32_t& cursor) {
            auto info = engine_.next_message(cursor, Loop::now());
            if (info) control_->set_pause_reasons(*info);
            return info;
        });
    idempotency_keys_.begin();
    suppressions_.open();
    auto first = recall();
    begin_control(take("control"));
    handed_.clear();
    if (!first.empty())
        log_.info("spool: what was due next at the last stop is read first: {} messages", first.size());
    scanner_.load_everything(std::move(first));
}

void QueueManager::reconfigure(common::DaemonConfig daemon_config) {
    config_ = &daemon_config.config;
    limit_put_aside();
    idempotency_keys_.reconfigure(daemon_config.config);
    if (listener_) {
        listener_->expect(std::move(daemon_config.expected)); // the sockets themselves stay as they are
    } else {
        handed_ = std::move(daemon_config.listeners);
        expected_ = std::move(daemon_config.expected);
    }
    with_engine([&](smtp::Now now, auto& out) { engine_.configure(engine_settings(*config_), now, out); });
    announce_modes();
    with_engine([&](smtp::Now now, auto& out) { engine_.routes_changed(now, out); });
    if (!listener_ || scanner_.loading()) return;
    scrub_.every(config_->spool.scrub_interval);
    cleaner_.soon();
}

void QueueManager::limit_put_aside() {
    const auto& spool = config_->spool;
    const auto seconds = [](smtp::Duration age) { return std::chrono::ceil<std::chrono::seconds>(age); };
    cleaner_.limit({seconds(spool.bad_age), spool.bad_size}, {seconds(spool.quarantine_age), spool.quarantine_size},
                   {std::max(seconds(spool.removed_age), std::chrono::seconds(1)),
                    spool.removed_size}); // "0s": what is left goes
}

void QueueManager::process_ended(const std::string& role, std::uint32_t instance, bool crashed) {
    agents_.process_ended(role, instance, crashed);
}

void QueueManager::stop(smtp::Duration within, std::function<void()> done) {
    stopping_ = true;
    lock_retry_.stop();
    scrub_.every(0s);
    suppressions_.flush();
    with_engine([&](smtp::Now now, auto& out) {
        engine_.pause(decide::queue::Scope::everything, "", now, out); // what is in flight still comes home
    });
    drain_then(Loop::now().monotonic + within - within / 10, std::move(done));
}

void QueueManager::drain_then(smtp::Monotonic until, std::function<void()> done) {
    while (!pending_records_.empty()) write_pending_records();
    store_.flush();
    const bool idle = engine_.counts().active == 0 && store_.outstanding() == 0;
    if (idle || Loop::now().monotonic >= until) {
        save_snapshot();
        return done();
    }
    // Renewed from within the timer's own callback: a new one takes its place once the turn has ended.
    context_.loop.defer([this, until, done = std::move(done)] {
        stopper_ =
            std::make_unique<common::Timer>(context_.loop, [this, until, done] { drain_then(until, done); });
        stopper_->start(10ms);
    });
}

// ---- messages come in ----

void QueueManager::accept(spool::QueueId id, spool::Location location, std::uint64_t size,
                          const spool::MessageState& state, decide::queue::Origin origin) {
    AcceptedMessage accepted_message(id, location, size, state);
    if (origin == decide::queue::Origin::submitted) accepted_message.mark_new();
    if (locked_.contains(id)) accepted_message.mark_with_earlier_agent();
    idempotency_keys_.seen(id, state.envelope);
    if (accepted_message.finished())
        return idempotency_keys_.when_stored(id, [this, id, location] { remove_file(id, location); });
    accepting_ = &state;
    accepting_size_ = size;
    bool fresh = false;
    with_engine([&](smtp::Now now, auto& out) { fresh = engine_.accepted(accepted_message.event(), now, out); });
    accepting_ = nullptr;
    if (fresh && !scanner_.loading()) in_.count(Loop::now().monotonic);
    std::vector<Early> told;
    while (auto early = early_.extract(id)) told.push_back(std::move(early.mapped()));
    for (const auto& each : told) done(each.agent, each.kind, each.done);
}

void QueueManager::found(spool::Found&& found) {
    // What we know already is with an agent of ours.
    if (found.in_flight && !engine_.message(found.id, Loop::now())) {
        // An agent of an earlier queue-manager still delivers it, and will tell us how that went.
        locked_.emplace(found.id, found.location);
        unlock_retry_.start(1s);
    }
    accept(found.id, found.location, found.size, found.state, decide::queue::Origin::recovered);
}

// Results for messages that did not turn up are of such as were finished before: their agents may forget
// them.
void QueueManager::all_loaded() {
    for (const auto& [id, early] : std::exchange(early_, {}))
        agents_.send(early.agent, proto::delivery::Acknowledged{early.done.delivery});
    log_.info("spool: all of it is loaded: {} messages", engine_.counts().messages);
    idempotency_keys_.all_seen();
    pool_.post([] { common::give_memory_back(); }); // with a million messages that takes its time
    listing_->serve();
    scrub_.every(config_->spool.scrub_interval);
    cleaner_.soon();
}

void QueueManager::found_damaged(spool::QueueId id, const std::string& why) {
    const auto info = engine_.message(id, Loop::now());
    if (!info || info->active) return; // gone meanwhile, or its agent finds the same
    put_in_quarantine(id, "found damaged while it waited: " + why);
    with_engine([&](smtp::Now now, auto& out) { engine_.forget(id, now, out); });
}

void QueueManager::put_in_quarantine(spool::QueueId id, const std::string& why) {
    log_.critical("{}: {}: moved to quarantine/: look at it by hand", id.text(), why);
    report_problem("quarantine", "damaged messages lie in quarantine/, the last one " + id.text());
    store_.quarantine(id, spool::Location::messages, why, [this, id](spool::Result<> moved) {
        if (!moved) failed_on_disk(id, moved.error());
        cleaner_.soon();
    });
    turn_.schedule();
}

void QueueManager::wait_for_agent(spool::QueueId id, spool::Location location) {
    scanner_.when_unlocked(id, location, [this, id] {
        if (locked_.erase(id) == 0) return;
        with_engine([&](smtp::Now now, auto& out) { engine_.agent_released(id, now, out); });
    });
    unlock_retry_.start(1s);
}

void QueueManager::put_aside(const spool::QuarantinedFile& aside) {
    if (aside.incomplete) {
        log_.info("spool: {} was never finished by its writer, nobody was told it was accepted: moved to {}",
                  aside.from, aside.to);
        return;
    }
    log_.critical("spool: {} is damaged ({}): moved to {}: look at it by hand", aside.from, aside.why,
                  aside.to);
    report_problem("quarantine", "damaged messages lie in quarantine/, the last one as " + aside.to);
}

// ---- files ----

void QueueManager::record(spool::QueueId id, std::vector<spool::Property> properties, spool::Sync sync) {
    if (auto unchanged = pending_records_.take(id)) properties.insert(properties.begin(), *std::move(unchanged));
    store_.append(id, spool::Location::messages, std::move(properties), sync,
                  [this, id, acknowledgement = acknowledgement_](spool::Result<> written) {
                      if (!written) failed_on_disk(id, written.error());
                  });
    turn_.schedule();
}

void QueueManager::write_pending_records() {
    for (auto& [id, unchanged] : pending_records_.passed()) record(id, {std::move(unchanged)});
    if (!pending_records_.empty()) pending_records_timer_.start(PendingRecords::delay);
}

void QueueManager::remove_file(spool::QueueId id, spool::Location location, std::shared_ptr<void> acknowledgement) {
    store_.remove(id, location, [this, id, location, acknowledgement](spool::Result<> removed) {
        if (removed) {
            scanner_.gone(id);
            if (unremoved_.empty()) report_problem("removal", "");
            return;
        }
        if (unremoved_.empty())
            log_.critical("{}: it is finished and its file cannot be removed: {}: trying again", id.text(),
                          removed.error().what);
        report_problem("removal", "finished messages cannot be removed: " + removed.error().what);
        unremoved_.emplace_back(id, location);
        if (!removal_retry_.armed()) removal_retry_.start(removal_pause);
    });
    turn_.schedule();
}

// By an operator, who may want it back.
void QueueManager::move_to_removed(spool::QueueId id) {
    store_.move_to_removed(id, spool::Location::messages, [this, id](spool::Result<> put) {
        if (!put) return remove_file(id, spool::Location::messages);
        scanner_.gone(id);
        cleaner_.soon();
    });
    turn_.schedule();
}

void QueueManager::restore_removed(spool::QueueId id, std::string who, spool::Store::Done done) {
    store_.restore(id, std::move(who), Loop::now().wall, [this, id, done = std::move(done)](spool::Result<> back) mutable {
        if (!back) return done(std::move(back));
        const auto last = std::make_shared<spool::Store::Done>(std::move(done));
        readings_.read(
            id, spool::Location::messages,
            [this, id, last](const spool::MessageState& state, std::uint64_t size) {
                accept(id, spool::Location::messages, size, state, decide::queue::Origin::recovered);
                (*last)({});
            },
            [this, id, last](const MessageLoader::Failure& failure) {
                if (failure.how == MessageLoader::Failure::How::damaged)
                    put_in_quarantine(id, "found damaged when it was brought back: " + failure.why);
                else if (failure.how != MessageLoader::Failure::How::gone)
                    schedule_read(id, decide::queue::Origin::recovered);
                (*last)(std::unexpected(spool::Error{EIO, failure.why}));
            });
        turn_.schedule();
    });
    turn_.schedule();
}

void QueueManager::retry_removals() {
    for (const auto& [id, location] : std::exchange(unremoved_, {})) remove_file(id, location);
}

void QueueManager::retry_unread() {
    if (scanner_.loading()) return reading_retry_.start(reading_pause_);
    report_problem("spool", "");
    scanner_.load_unread();
}

void QueueManager::failed_on_disk(spool::QueueId id, const spool::Error& error) {
    if (error.code == ENOENT) return; // finished meanwhile
    log_.critical("{}: cannot record what happened to it: {}", id.text(), error.what);
    report_problem("disk", error.what);
    if (spool::is_out_of_space(error)) release_reserve();
}

void QueueManager::release_reserve() {
    if (!reserve_ || reserve_busy_) return;
    reserve_busy_ = true;
    reserve_short_ = true;
    pool_.post([this] {
        auto given = reserve_->release(1 << 20);
        pool_.complete([this, given] {
            reserve_busy_ = false;
            if (given && !*given) log_.critical("spool: the reserve for reports and records is used up");
            reserve_retry_.start(1min);
        });
    });
}

void QueueManager::restore_reserve() {
    if (!reserve_ || reserve_busy_ || !reserve_short_) return;
    reserve_busy_ = true;
    pool_.post([this] {
        auto restored = reserve_->restore();
        pool_.complete([this, restored] {
            reserve_busy_ = false;
            reserve_short_ = !restored;
            if (restored)
                report_problem("disk", "");
            else
                reserve_retry_.start(1min);
        });
    });
}

void QueueManager::announce_modes() {
    const auto say = [&](const std::string& key, std::string_view notice) {
        const bool was = problems_.contains(key);
        if (!notice.empty() && !was) log_.warning("{}", notice);
        if (notice.empty() && was) log_.info("bounce.{} is off again", key);
        report_problem(key, std::string(notice));
    };
    say("soft_bounce", soft_bounce_notice(*config_));
    say("withhold_reports", dry_bounce_notice(*config_));
}

void QueueManager::report_problem(const std::string& about, std::string text) {
    if (text.empty())
        problems_.erase(about);
    else
        problems_[about] = std::move(text);
    std::string all;
    for (auto& [key, each] : problems_) all += (all.empty() ? "" : "; ") + each;
    context_.report_problem(all);
}

} // namespace queue_manager
