#include "daemons/queue-manager/spool/scrub.h"
#include "libspool/message/message_reader.h"
#include <algorithm>

namespace queue_manager {

using namespace std::chrono_literals;

namespace {

constexpr smtp::Duration longest_rest = 10min;

// What is wrong with the file, unless the error is not the file's.
std::optional<std::string> damage_of(spool::Disk& disk, spool::QueueId id) {
    auto reader = spool::MessageReader::open(disk, id, spool::Location::messages, spool::ReadLock::none);
    spool::ReadResult<std::string_view> piece;
    if (!reader) piece = std::unexpected(reader.error());
    for (std::uint64_t at = 0; reader && piece; at += piece->size()) {
        piece = reader->piece(at);
        if (piece && piece->empty()) break;
    }
    if (piece) return {};
    const auto* damaged = std::get_if<spool::Damaged>(&piece.error());
    if (!damaged || damaged->how == spool::Damaged::How::newer) return {};
    return damaged->what;
}

} // namespace

Scrub::Scrub(common::Loop& loop, spool::CommitPool& pool, Callbacks callbacks)
    : pool_(pool), callbacks_(std::move(callbacks)), timer_(loop, [this] { look(); }) {}

void Scrub::every(smtp::Duration interval) {
    interval_ = interval;
    if (interval_.count() == 0)
        timer_.stop();
    else if (!reading_)
        rest();
}

void Scrub::rest() {
    const auto messages = static_cast<std::int64_t>(std::max<std::size_t>(1, callbacks_.messages()));
    timer_.start(std::clamp<smtp::Duration>(interval_ / messages, 1ms, longest_rest));
}

void Scrub::look() {
    const auto message = callbacks_.next(cursor_);
    // The delivery agent verifies the checksum as well.
    if (!message || message->active || message->location != spool::Location::messages) return rest();
    reading_ = true;
    pool_.post([this, id = message->id] {
        auto damage = damage_of(pool_.disk(), id);
        if (damage) damage = damage_of(pool_.disk(), id); // it may have been written to just then
        pool_.complete([this, id, damage = std::move(damage)] {
            reading_ = false;
            if (damage) callbacks_.damaged(id, *damage);
            if (interval_.count() != 0) rest();
        });
    });
}

} // namespace queue_manager
