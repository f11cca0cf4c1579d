#include "daemons/queue-manager/engine_driver/message_intake.h"
#include "daemons/queue-manager/conversion/accepted_message.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

namespace queue_manager {

namespace {

constexpr smtp::Duration unlock_pause = std::chrono::seconds(1);
constexpr smtp::Duration unread_pause = std::chrono::seconds(5);
constexpr smtp::Duration shortest_scan_pause = std::chrono::seconds(1), longest_scan_pause = std::chrono::hours(1);

} // namespace

MessageIntake::MessageIntake(Dependencies dependencies)
    : deps_(std::move(dependencies)), unlock_retry_(deps_.loop,
                                                    [this] {
                                                        for (const auto& [id, location] : locked_)
                                                            wait_for_agent(id, location);
                                                    }),
      unread_retry_(deps_.loop,
                    [this] {
                        for (const auto& [id, origin] : std::exchange(unread_, {})) read(id, origin);
                    }),
      scan_retry_(deps_.loop, [this] { scan_again(); }) {}

void MessageIntake::accept(spool::QueueId id, spool::Location location, std::uint64_t size,
                           const spool::MessageState& state, decide::queue::Origin origin) {
    AcceptedMessage message(id, location, size, state);
    if (origin == decide::queue::Origin::submitted) message.mark_new();
    if (locked_.contains(id)) message.mark_with_earlier_agent();
    deps_.keys.seen(id, state.envelope);
    if (message.finished()) {
        const bool reached = deps_.events.found_finished(id, location, state, size) == MessageEvents::Result::reached;
        if (reached || !deps_.keeps_failed()) return deps_.files.remove(id, location);
        return deps_.files.keep_failed(id, location, {}); // what it was not moved for is in its file
    }
    if (origin == decide::queue::Origin::submitted)
        deps_.events.accepted(id, state, size);
    else if (!deps_.driver.engine().message(id, common::Loop::now()))
        deps_.events.found(id, location, state, size);
    const EventContext::Accepted accepted{id, state, size, origin == decide::queue::Origin::submitted};
    bool fresh = false;
    deps_.driver.tell(
        [&](auto& engine, smtp::Now now, auto& out) { fresh = engine.accepted(message.event(), now, out); },
        {.accepted = &accepted});
    // Each submission is reported once; while the spool is read, the scan may find it before.
    if (origin == decide::queue::Origin::submitted || (fresh && !deps_.scanner.loading()))
        rate_.count(common::Loop::now().monotonic);
    if (state.transfer.under_way) deps_.being_moved(id, state.transfer);
    deps_.known_now(id);
}

void MessageIntake::read(spool::QueueId id, decide::queue::Origin origin) {
    deps_.loader.read(
        id, spool::Location::incoming,
        [this, origin, id](const spool::MessageState& state, std::uint64_t size) {
            accept(id, spool::Location::incoming, size, state, origin);
        },
        [this, origin, id](const MessageLoader::Failure& failure) {
            using How = MessageLoader::Failure::How;
            if (failure.how == How::gone) return; // finished before, by an earlier queue-manager
            if (failure.how == How::damaged)
                return deps_.files.quarantine(id, "found damaged when it was submitted: " + failure.why);
            read_later(id, origin);
        });
}

void MessageIntake::read_later(spool::QueueId id, decide::queue::Origin origin) {
    unread_.emplace(id, origin);
    if (!unread_retry_.armed()) unread_retry_.start(unread_pause);
}

void MessageIntake::restore_removed(spool::QueueId id, std::string who, spool::Store::Done done) {
    auto restored = [this, id, done = std::move(done)](spool::Result<> back) mutable {
        if (!back) return done(std::move(back));
        const auto last = std::make_shared<spool::Store::Done>(std::move(done));
        deps_.loader.read(
            id, spool::Location::messages,
            [this, id, last](const spool::MessageState& state, std::uint64_t size) {
                accept(id, spool::Location::messages, size, state, decide::queue::Origin::recovered);
                (*last)({});
            },
            [this, id, last](const MessageLoader::Failure& failure) {
                using How = MessageLoader::Failure::How;
                if (failure.how == How::damaged)
                    deps_.files.quarantine(id, "found damaged when it was restored: " + failure.why);
                else if (failure.how != How::gone)
                    read_later(id, decide::queue::Origin::recovered);
                (*last)(std::unexpected(spool::Error{EIO, failure.why}));
            });
        deps_.written();
    };
    deps_.store.restore(id, std::move(who), common::Loop::now().wall, std::move(restored));
    deps_.written();
}

// ---- what a scan of the spool finds ----

void MessageIntake::found(spool::Found&& found) {
    // Messages known already are with an agent of ours.
    if (found.in_flight && !deps_.driver.engine().message(found.id, common::Loop::now())) {
        // An agent of an earlier queue-manager still delivers it, and will report the result.
        locked_.emplace(found.id, found.location);
        unlock_retry_.start(unlock_pause);
    }
    // What its writer has reported meanwhile is known better.
    if (found.reused_file.valid() && !deps_.files.where(found.id, found.location).reused.valid())
        deps_.store.occupies(found.id, found.reused_file, 0);
    accept(found.id, found.location, found.size, found.state, decide::queue::Origin::recovered);
}

void MessageIntake::wait_for_agent(spool::QueueId id, spool::Location location) {
    deps_.scanner.when_unlocked(id, deps_.files.where(id, location), [this, id] {
        if (locked_.erase(id) == 0) return;
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.agent_released(id, now, out); });
    });
    unlock_retry_.start(unlock_pause);
}

void MessageIntake::set_aside(const spool::QuarantinedFile& aside) {
    if (const auto id = spool::QueueId::parse(std::string_view(aside.from).substr(aside.from.rfind('/') + 1)))
        deps_.events.found_damaged(*id, aside.incomplete, aside.why);
    if (aside.incomplete) {
        deps_.log.info("spool: {} was never finished by its writer, so its acceptance was never reported: moved to {}",
                       aside.from, aside.to);
        return;
    }
    deps_.log.critical("spool: {} is damaged ({}): moved to {}: inspect it", aside.from, aside.why, aside.to);
    deps_.problems.report("quarantine", "damaged messages are in quarantine/, the last one as " + aside.to);
}

void MessageIntake::unreadable(const spool::Error& error) {
    deps_.log.error("spool: {}: left where it is", error.what);
    deps_.problems.report("spool", error.what);
}

void MessageIntake::scan_again_later() {
    if (scan_retry_.armed()) return;
    scan_pause_ = std::clamp(2 * scan_pause_, shortest_scan_pause, longest_scan_pause);
    scan_retry_.start(scan_pause_);
}

void MessageIntake::scan_again() {
    if (deps_.scanner.loading()) return scan_retry_.start(scan_pause_);
    deps_.problems.report("spool", "");
    deps_.scanner.load_unread();
}

void MessageIntake::found_damaged(spool::QueueId id, const std::string& why) {
    const auto info = deps_.driver.engine().message(id, common::Loop::now());
    if (!info || info->active) return; // removed meanwhile, or its agent finds the same
    deps_.files.quarantine(id, "found damaged while it waited: " + why);
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.forget(id, now, out); });
}

} // namespace queue_manager
