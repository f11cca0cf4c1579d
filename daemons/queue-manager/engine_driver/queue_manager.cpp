#include "daemons/queue-manager/engine_driver/queue_manager.h"
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

spool::Result<std::unique_ptr<QueueManager>> QueueManager::create(common::Surroundings& surroundings,
                                                                  common::Orders orders) {
    auto disk = TRY(spool::RealDisk::open_at(orders.config.spool.directory));
    disk->watch_syncs([&figures = surroundings.figures](std::chrono::nanoseconds took) {
        figures.observe(common::Family::sync_seconds, std::chrono::duration_cast<smtp::Duration>(took));
    });
    std::unique_ptr<QueueManager> self(new QueueManager(surroundings, orders.config, std::move(disk)));
    self->handed_ = std::move(orders.listeners);
    self->expected_ = std::move(orders.expected);
    self->operators_ = orders.operators;
    self->take_lock();
    return self;
}

QueueManager::QueueManager(common::Surroundings& surroundings, const config::Config& config,
                           std::unique_ptr<spool::RealDisk> disk)
    : around_(surroundings), log_(surroundings.log), config_(&config), disk_(std::move(disk)),
      wake_(surroundings.loop, [this] { pool_.drain(); }),
      pool_(*disk_, config.spool.sync_threads, [this] { wake_.signal(); }), store_(pool_),
      readings_(pool_, [this] { turn_.schedule(); },
                [this](spool::QueueId id, const std::string& why) {
                    if (!why.empty()) log_.error("{}: its file cannot be read: {}", id.text(), why);
                    trouble("reading", why.empty() ? "" : id.text() + ": its file cannot be read: " + why);
                }),
      loader_(pool_, {[this](spool::Found&& message) { found(std::move(message)); },
                      [this](const spool::PutAside& aside) { put_aside(aside); },
                      [this](const spool::Error& error) {
                          log_.error("spool: {}: left where it is", error.what);
                          trouble("spool", error.what);
                      },
                      [this] { all_loaded(); },
                      [this] {
                          if (reading_retry_.armed()) return;
                          reading_pause_ = std::clamp<smtp::Duration>(2 * reading_pause_, 1s, 1h);
                          reading_retry_.start(reading_pause_);
                      }}),
      keys_(surroundings.loop, log_, pool_, config, [this](std::string text) { trouble("idempotency", std::move(text)); }),
      engine_(engine_settings(config), fresh_seed(), Loop::now()),
      timer_(surroundings.loop, [this] { tell([&](smtp::Now now, auto& out) { engine_.timer(now, out); }); }),
      turn_(surroundings.loop, [this] { end_of_turn(); }),
      gathering_(surroundings.loop, [this] { store_.flush(); }),
      writing_down_(surroundings.loop, [this] { write_down(); }),
      lock_retry_(surroundings.loop, [this] { take_lock(); }),
      unlock_retry_(surroundings.loop,
                    [this] {
                        for (const auto& [id, location] : locked_) wait_for_agent(id, location);
                    }),
      reserve_retry_(surroundings.loop, [this] { restore_reserve(); }),
      removal_retry_(surroundings.loop, [this] { remove_again(); }),
      reading_retry_(surroundings.loop, [this] { read_again(); }),
      unread_retry_(surroundings.loop,
                    [this] {
                        for (const auto& [id, since] : std::exchange(unread_, {})) read_submitted(id, since);
                    }),
      scrub_(surroundings.loop, pool_,
             {[this](std::uint32_t& cursor) { return engine_.next_message(cursor, Loop::now()); },
              [this] { return engine_.counts().messages; },
              [this](spool::QueueId id, const std::string& why) { rotten(id, why); }}),
      cleaner_(surroundings.loop, log_, *disk_, pool_,
               [this](std::string text) { trouble("put aside", std::move(text)); }),
      agents_(surroundings.loop, log_,
              {[this](decide::queue::AgentId id, AgentKind kind) {
                   const bool local = kind == AgentKind::local;
                   const auto capacity =
                       local ? config_->queue.connections_local : config_->queue.connections_total;
                   tell([&](smtp::Now now, auto& out) {
                       engine_.agent_attached(
                           id, kind, capacity, now, out);
                   });
               },
               [this](decide::queue::AgentId id, decide::queue::Departure how) {
                   trials_.gone(id);
                   tell([&](smtp::Now now, auto& out) { engine_.agent_gone(id, how, now, out); });
               },
               [this](decide::queue::AgentId id, AgentKind kind, proto::delivery::Message&& message) {
                   agent_said(id, kind, std::move(message));
               }}),
      categorizer_(surroundings.loop,
                   {[this] {
                        categorizer_.ask(proto::categorize::Suppressions{suppressions_.any()});
                        tell([&](smtp::Now now, auto& out) {
                            engine_.service(decide::queue::Service::categorizer, decide::queue::Presence::up,
                                            now, out);
                        });
                    },
                    [this] {
                        subjects_.clear();
                        answer_parts_.forget();
                        inquiry_.lost("categorizer");
                        tell([&](smtp::Now now, auto& out) {
                            engine_.service(decide::queue::Service::categorizer,
                                            decide::queue::Presence::down, now, out);
                        });
                    },
                    [this](proto::categorize::Message&& message) {
                        if (auto* answer = std::get_if<proto::categorize::Categorized>(&message))
                            if (const auto whole = answer_parts_.add(std::move(*answer))) categorized(*whole);
                    }}),
      router_(surroundings.loop, {[this] {
                                      tell([&](smtp::Now now, auto& out) {
                                          engine_.service(decide::queue::Service::router,
                                                          decide::queue::Presence::up, now, out);
                                      });
                                  },
                                  [this] {
                                      inquiry_.lost("router");
                                      tell([&](smtp::Now now, auto& out) {
                                          engine_.service(decide::queue::Service::router,
                                                          decide::queue::Presence::down, now, out);
                                      });
                                  },
                                  [this](proto::route::Message&& message) {
                                      if (auto* answer = std::get_if<proto::route::Routed>(&message))
                                          routed(*answer);
                                      else if (auto* changed = std::get_if<proto::route::StsChanged>(&message))
                                          domains_.changed(changed->sts);
                                  }}),
      bounce_(surroundings.loop, {[this] {
                                      tell([&](smtp::Now now, auto& out) {
                                          engine_.service(decide::queue::Service::bounce,
                                                          decide::queue::Presence::up, now, out);
                                      });
                                  },
                                  [this] {
                                      reports_.clear();
                                      tell([&](smtp::Now now, auto& out) {
                                          engine_.service(decide::queue::Service::bounce,
                                                          decide::queue::Presence::down, now, out);
                                      });
                                  },
                                  [this](proto::report::Message&& message) {
                                      if (auto* answer = std::get_if<proto::report::Reported>(&message))
                                          reported(*answer);
                                  }}) {
    announce_modes();
    limit_put_aside();
    using decide::queue::Presence;
    for (auto service : {decide::queue::Service::categorizer, decide::queue::Service::router,
                         decide::queue::Service::bounce})
        tell([&](smtp::Now now, auto& out) { engine_.service(service, Presence::down, now, out); });
}

QueueManager::~QueueManager() = default;

// An earlier queue-manager may still be finishing (its master died): two must never work on one spool.
void QueueManager::take_lock() {
    auto file = disk_->open("run/queue-manager.lock", spool::Open::upsert);
    auto locked = file ? disk_->lock(*file, spool::Lock::exclusive)
                       : spool::Result<spool::Locked>(std::unexpected(file.error()));
    if (locked && *locked == spool::Locked::yes) {
        lock_ = std::move(*file);
        trouble("lock", "");
        return begin();
    }
    const std::string why = locked ? "another queue-manager still works on this spool; waiting for it to end"
                                   : locked.error().what;
    if (!troubles_.contains("lock")) log_.warning("run/queue-manager.lock: {}", why);
    trouble("lock", why);
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
        auto found = std::ranges::find(handed_, name, &common::HandedListener::name);
        return found == handed_.end() ? common::Fd() : std::move(found->fd);
    };
    listener_ = std::make_unique<ipc::Listener>(around_.loop, log_, take("queue-manager"), expected_);
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
        std::make_unique<Listing>(around_.loop, log_, pool_, take("showq"), [this](std::uint32_t& cursor) {
            auto info = engine_.next_message(cursor, Loop::now());
            if (info) control_->say_why(*info);
            return info;
        });
    keys_.begin();
    suppressions_.open();
    auto first = recall();
    begin_control(take("control"));
    handed_.clear();
    if (!first.empty())
        log_.info("spool: what was due next at the last stop is read first: {} messages", first.size());
    loader_.load_everything(std::move(first));
}

void QueueManager::reconfigure(common::Orders orders) {
    config_ = &orders.config;
    limit_put_aside();
    keys_.reconfigure(orders.config);
    if (listener_) {
        listener_->expect(std::move(orders.expected)); // the sockets themselves stay as they are
    } else {
        handed_ = std::move(orders.listeners);
        expected_ = std::move(orders.expected);
    }
    tell([&](smtp::Now now, auto& out) { engine_.configure(engine_settings(*config_), now, out); });
    announce_modes();
    tell([&](smtp::Now now, auto& out) { engine_.routes_changed(now, out); });
    if (!listener_ || loader_.loading()) return;
    scrub_.every(config_->spool.scrub_interval);
    cleaner_.soon();
}

void QueueManager::limit_put_aside() {
    const auto& spool = config_->spool;
    const auto seconds = [](smtp::Duration age) { return std::chrono::ceil<std::chrono::seconds>(age); };
    cleaner_.limit({seconds(spool.bad_age), spool.bad_size}, {seconds(spool.quarantine_age), spool.quarantine_size},
                   {std::max(seconds(spool.removed_age), std::chrono::seconds(1)), spool.removed_size}); // "0s": what is left goes
}

void QueueManager::died(const std::string& role, std::uint32_t instance, bool crashed) {
    agents_.died(role, instance, crashed);
}

void QueueManager::stop(smtp::Duration within, std::function<void()> done) {
    stopping_ = true;
    lock_retry_.stop();
    scrub_.every(0s);
    suppressions_.flush();
    tell([&](smtp::Now now, auto& out) {
        engine_.pause(decide::queue::Scope::everything, "", now, out); // what is in flight still comes home
    });
    drain_then(Loop::now().monotonic + within - within / 10, std::move(done));
}

void QueueManager::drain_then(smtp::Monotonic until, std::function<void()> done) {
    while (!unwritten_.empty()) write_down();
    store_.flush();
    const bool idle = engine_.counts().active == 0 && store_.outstanding() == 0;
    if (idle || Loop::now().monotonic >= until) {
        remember();
        return done();
    }
    // Renewed from within the timer's own callback: a new one takes its place once the turn has ended.
    around_.loop.later([this, until, done = std::move(done)] {
        stopper_ =
            std::make_unique<common::Timer>(around_.loop, [this, until, done] { drain_then(until, done); });
        stopper_->start(10ms);
    });
}

// ---- messages come in ----

void QueueManager::accept(spool::QueueId id, spool::Location location, std::uint64_t size,
                          const spool::MessageState& state, decide::queue::Since since) {
    Intake intake(id, location, size, state);
    if (since == decide::queue::Since::now) intake.is_new();
    if (locked_.contains(id)) intake.is_elsewhere();
    keys_.seen(id, state.envelope);
    if (intake.finished())
        return keys_.when_kept(id, [this, id, location] { remove_file(id, location); });
    accepting_ = &state;
    accepting_size_ = size;
    bool fresh = false;
    tell([&](smtp::Now now, auto& out) { fresh = engine_.accepted(intake.event(), now, out); });
    accepting_ = nullptr;
    if (fresh && !loader_.loading()) in_.count(Loop::now().monotonic);
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
    accept(found.id, found.location, found.size, found.state, decide::queue::Since::earlier);
}

// Results for messages that did not turn up are of such as were finished before: their agents may forget
// them.
void QueueManager::all_loaded() {
    for (const auto& [id, early] : std::exchange(early_, {}))
        agents_.send(early.agent, proto::delivery::Acknowledged{early.done.delivery});
    log_.info("spool: all of it is loaded: {} messages", engine_.counts().messages);
    keys_.all_seen();
    pool_.post([] { common::give_memory_back(); }); // with a million messages that takes its time
    listing_->serve();
    scrub_.every(config_->spool.scrub_interval);
    cleaner_.soon();
}

void QueueManager::rotten(spool::QueueId id, const std::string& why) {
    const auto info = engine_.message(id, Loop::now());
    if (!info || info->active) return; // gone meanwhile, or its agent finds the same
    put_in_quarantine(id, "found damaged while it waited: " + why);
    tell([&](smtp::Now now, auto& out) { engine_.forget(id, now, out); });
}

void QueueManager::put_in_quarantine(spool::QueueId id, const std::string& why) {
    log_.critical("{}: {}: moved to quarantine/: look at it by hand", id.text(), why);
    trouble("quarantine", "damaged messages lie in quarantine/, the last one " + id.text());
    store_.quarantine(id, spool::Location::messages, why, [this, id](spool::Result<> moved) {
        if (!moved) failed_on_disk(id, moved.error());
        cleaner_.soon();
    });
    turn_.schedule();
}

void QueueManager::wait_for_agent(spool::QueueId id, spool::Location location) {
    loader_.when_unlocked(id, location, [this, id] {
        if (locked_.erase(id) == 0) return;
        tell([&](smtp::Now now, auto& out) { engine_.came_home(id, now, out); });
    });
    unlock_retry_.start(1s);
}

void QueueManager::put_aside(const spool::PutAside& aside) {
    if (aside.incomplete) {
        log_.info("spool: {} was never finished by its writer, nobody was told it was accepted: moved to {}",
                  aside.from, aside.to);
        return;
    }
    log_.critical("spool: {} is damaged ({}): moved to {}: look at it by hand", aside.from, aside.why,
                  aside.to);
    trouble("quarantine", "damaged messages lie in quarantine/, the last one as " + aside.to);
}

// ---- files ----

void QueueManager::record(spool::QueueId id, std::vector<spool::Property> properties, spool::Sync sync) {
    if (auto unchanged = unwritten_.take(id)) properties.insert(properties.begin(), *std::move(unchanged));
    store_.append(id, spool::Location::messages, std::move(properties), sync,
                  [this, id, acknowledgement = acknowledgement_](spool::Result<> written) {
                      if (!written) failed_on_disk(id, written.error());
                  });
    turn_.schedule();
}

void QueueManager::write_down() {
    for (auto& [id, unchanged] : unwritten_.passed()) record(id, {std::move(unchanged)});
    if (!unwritten_.empty()) writing_down_.start(Unwritten::a_while);
}

void QueueManager::remove_file(spool::QueueId id, spool::Location location, std::shared_ptr<void> acknowledgement) {
    store_.remove(id, location, [this, id, location, acknowledgement](spool::Result<> removed) {
        if (removed) {
            loader_.gone(id);
            if (unremoved_.empty()) trouble("removal", "");
            return;
        }
        if (unremoved_.empty())
            log_.critical("{}: it is finished and its file cannot be removed: {}: trying again", id.text(), removed.error().what);
        trouble("removal", "finished messages cannot be removed: " + removed.error().what);
        unremoved_.emplace_back(id, location);
        if (!removal_retry_.armed()) removal_retry_.start(removal_pause);
    });
    turn_.schedule();
}

// By an operator, who may want it back.
void QueueManager::put_away(spool::QueueId id) {
    store_.put_away(id, spool::Location::messages, [this, id](spool::Result<> put) {
        if (!put) return remove_file(id, spool::Location::messages);
        loader_.gone(id);
        cleaner_.soon();
    });
    turn_.schedule();
}

void QueueManager::bring_back(spool::QueueId id, std::string who, spool::Store::Done done) {
    store_.bring_back(id, std::move(who), Loop::now().wall, [this, id, done = std::move(done)](spool::Result<> back) mutable {
        if (!back) return done(std::move(back));
        const auto last = std::make_shared<spool::Store::Done>(std::move(done));
        readings_.read(
            id, spool::Location::messages,
            [this, id, last](const spool::MessageState& state, std::uint64_t size) {
                accept(id, spool::Location::messages, size, state, decide::queue::Since::earlier);
                (*last)({});
            },
            [this, id, last](const Readings::Failure& failure) {
                if (failure.how == Readings::Failure::How::damaged)
                    put_in_quarantine(id, "found damaged when it was brought back: " + failure.why);
                else if (failure.how != Readings::Failure::How::gone)
                    read_again_later(id, decide::queue::Since::earlier);
                (*last)(std::unexpected(spool::Error{EIO, failure.why}));
            });
        turn_.schedule();
    });
    turn_.schedule();
}

void QueueManager::remove_again() {
    for (const auto& [id, location] : std::exchange(unremoved_, {})) remove_file(id, location);
}

void QueueManager::read_again() {
    if (loader_.loading()) return reading_retry_.start(reading_pause_);
    trouble("spool", "");
    loader_.load_unread();
}

void QueueManager::failed_on_disk(spool::QueueId id, const spool::Error& error) {
    if (error.code == ENOENT) return; // finished meanwhile
    log_.critical("{}: cannot record what happened to it: {}", id.text(), error.what);
    trouble("disk", error.what);
    if (spool::is_out_of_space(error)) relieve();
}

void QueueManager::relieve() {
    if (!reserve_ || reserve_busy_) return;
    reserve_busy_ = true;
    reserve_short_ = true;
    pool_.post([this] {
        auto given = reserve_->give_up(1 << 20);
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
                trouble("disk", "");
            else
                reserve_retry_.start(1min);
        });
    });
}

void QueueManager::announce_modes() {
    const auto say = [&](const std::string& key, std::string_view notice) {
        const bool was = troubles_.contains(key);
        if (!notice.empty() && !was) log_.warning("{}", notice);
        if (notice.empty() && was) log_.info("bounce.{} is off again", key);
        trouble(key, std::string(notice));
    };
    say("soft_bounce", soft_bounce_notice(*config_));
    say("dry_bounce", dry_bounce_notice(*config_));
}

void QueueManager::trouble(const std::string& about, std::string text) {
    if (text.empty())
        troubles_.erase(about);
    else
        troubles_[about] = std::move(text);
    std::string all;
    for (auto& [key, each] : troubles_) all += (all.empty() ? "" : "; ") + each;
    around_.trouble(all);
}

} // namespace queue_manager
