#include "daemons/queue-manager/spool/message_loader.h"
#include "libspool/message/message_reader.h"
#include <cerrno>
#include <optional>
#include <utility>

namespace queue_manager {

namespace {

MessageLoader::Failure failure_of(const spool::ReadError& error) {
    using How = MessageLoader::Failure::How;
    const auto* world = std::get_if<spool::Error>(&error);
    return {world == nullptr ? How::damaged : world->code == ENOENT ? How::gone : How::failed, spool::text_of(error)};
}

} // namespace

void MessageLoader::read(spool::QueueId id, spool::Location hint, Then then, Failed failed) {
    const auto [place, fresh] = readings_.try_emplace(id);
    place->second.next.push_back({std::move(then), std::move(failed)});
    if (!fresh) return;
    fresh_.emplace_back(id, hint);
    soon_();
}

void MessageLoader::when_read(spool::QueueId id, std::move_only_function<void()> then) {
    const auto reading = readings_.find(id);
    if (reading == readings_.end()) return then();
    reading->second.after.push_back(std::move(then));
}

void MessageLoader::begin() {
    for (const auto& [id, hint] : std::exchange(fresh_, {})) start(id, hint);
}

void MessageLoader::start(spool::QueueId id, spool::Location hint) {
    auto& reading = readings_.at(id);
    reading.served = std::exchange(reading.next, {});
    const auto first = where_ ? where_(id, hint) : spool::FileHint(hint);
    pool_.post([this, &pool = pool_, id, hint, first] { // by then this may be destroyed; the pool is not
        auto reader = spool::MessageReader::open(pool.disk(), id, first, spool::ReadLock::none);
        std::optional<spool::MessageState> state;
        Failure failure;
        std::uint64_t size = 0;
        if (reader) {
            size = reader->size();
            state = std::move(*reader).state();
        } else {
            failure = failure_of(reader.error());
        }
        pool.complete([this, id, hint, state = std::move(state), size, failure = std::move(failure)] {
            auto served = std::exchange(readings_.at(id).served, {});
            const bool unreadable = !state && failure.how != Failure::How::gone;
            if (unreadable || (state && unreadable_reported_)) unreadable_(id, failure.why);
            if (unreadable || state) unreadable_reported_ = unreadable;
            for (auto& each : served)
                if (state)
                    each.then(*state, size);
                else if (each.failed)
                    each.failed(failure);
            if (!readings_.at(id).next.empty()) return start(id, hint);
            auto done = readings_.extract(id);
            for (auto& then : done.mapped().after) then();
        });
    });
}

} // namespace queue_manager
