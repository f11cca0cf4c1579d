#include "daemons/queue-manager/fleet/key_records.h"
#include "daemons/common/submission/idempotency/attempts.h"
#include "daemons/common/submission/idempotency/owner_lock.h"
#include <utility>

namespace queue_manager {

namespace idempotency = common::idempotency;
namespace records = proto::key_records;

namespace {

records::Fate fate_of(idempotency::AttemptResult::Fate fate) {
    using Fate = idempotency::AttemptResult::Fate;
    switch (fate) {
    case Fate::accepted: return records::Fate::accepted;
    case Fate::gone: return records::Fate::gone;
    case Fate::open: break;
    }
    return records::Fate::open;
}

// All are open if the store cannot be read.
records::Attempts attempts_in(store::Store* store, const std::string& spool, const records::AskAttempts& question,
                              smtp::WallTime now) {
    records::Attempts out{.number = question.number, .found = {}};
    out.found.resize(question.attempts.size());
    if (!store) return out;
    const idempotency::KeyStore::OwnerProbe probe{
        .state_of =
            [&](std::string_view owner) {
                return idempotency::OwnerLock::state_of(idempotency::directory_in(spool), owner);
            },
        .trace_of = [&](spool::QueueId id) { return idempotency::trace_of(spool, id); }};
    std::vector<idempotency::Attempt> attempts;
    for (const auto& each : question.attempts) attempts.push_back({each.name, each.id});
    const auto found = idempotency::results_of(*store, idempotency::boot_id(), probe, attempts, now);
    if (!found) return out;
    for (std::size_t n = 0; n < found->size(); ++n)
        out.found[n] = {fate_of((*found)[n].fate), (*found)[n].expires.time_since_epoch().count()};
    return out;
}

records::Accepted accepted_in(store::Store* store, const records::AskAccepted& question, smtp::WallTime now) {
    records::Accepted out{.number = question.number,
                          .error = "the store of idempotency keys is not open",
                          .keys = {},
                          .after = question.after};
    if (!store) return out;
    const auto found = idempotency::accepted_keys(*store, idempotency::boot_id(), out.after, records::most, now);
    out.error = found ? "" : found.error().what;
    if (!found) return out;
    for (const auto& each : *found)
        out.keys.push_back({each.name, each.what.digest, each.what.id, each.expires.time_since_epoch().count(),
                            idempotency::is_of_program(each.what)});
    out.last = out.after == question.after; // entries that are not shared are left out
    return out;
}

} // namespace

KeyRecords::KeyRecords(Dependencies dependencies)
    : deps_(std::move(dependencies)),
      service_(deps_.loop, {[] {}, [] {}, [this](records::Message&& message) { received(std::move(message)); }}) {}

void KeyRecords::attach(std::unique_ptr<Channel> channel) {
    ++connection_;
    service_.attach(std::move(channel));
}

void KeyRecords::received(records::Message&& message) {
    if (auto* question = std::get_if<records::AskAttempts>(&message)) {
        if (question->attempts.size() > records::most) return;
        answer<records::Attempts>([question = std::move(*question), spool = deps_.spool](auto* store, auto now) {
            return attempts_in(store, spool, question, now);
        });
    }
    if (auto* question = std::get_if<records::AskAccepted>(&message))
        answer<records::Accepted>(
            [question = std::move(*question)](auto* store, auto now) { return accepted_in(store, question, now); });
}

template <class Answer> void KeyRecords::answer(std::function<Answer(store::Store*, smtp::WallTime)> read) {
    deps_.keys.look([this, read = std::move(read), asked = connection_, now = common::Loop::now().wall,
                     &pool = deps_.pool, alive = std::weak_ptr(alive_)](store::Store* store) {
        pool.complete([this, asked, alive, answer = read(store, now)] {
            if (!alive.expired() && asked == connection_) static_cast<void>(service_.ask(answer));
        });
    });
}

} // namespace queue_manager
