#include "daemons/queue-manager/spool/idempotency_keys.h"
#include "daemons/common/store/lmdb.h"
#include <algorithm>
#include <iterator>
#include <utility>

namespace queue_manager {

using common::Loop;
using common::idempotency::AcceptedKey;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t at_once = 1000;         // keys in one transaction
constexpr std::size_t most_waiting = 100'000; // while the store cannot be written; beyond, keys are forgotten
constexpr auto retry_after = 10s;

} // namespace

// Used by one job at a time.
struct IdempotencyKeys::Back {
    const std::string directory;
    const std::uint64_t largest;
    std::unique_ptr<store::Lmdb> store = {};

    spool::Result<> write(const std::vector<AcceptedKey>& kept, bool whole, smtp::WallTime now, std::string& aside) {
        if (!store) {
            store = TRY(store::Lmdb::open(directory, {.max_size = largest, .keeper = true}));
            aside = store->quarantine_reason();
        }
        if (!kept.empty()) TRY(common::idempotency::record_accepted(*store, kept, now));
        if (whole) TRY(common::idempotency::set_complete(*store, common::idempotency::boot_id(), now));
        return {};
    }
};

IdempotencyKeys::IdempotencyKeys(common::Loop& loop, common::Log& log, spool::CommitPool& pool,
                                 const config::Idempotency& settings, const std::string& spool_directory,
                                 ProblemReporter report_problem)
    : log_(log), pool_(pool), report_problem_(std::move(report_problem)), enabled_(settings.enabled),
      life_(settings.lifetime), back_(new Back{common::idempotency::directory_in(spool_directory), settings.max_size}),
      retry_(loop, [this] { send(); }) {}

IdempotencyKeys::~IdempotencyKeys() = default;

void IdempotencyKeys::reconfigure(const config::Idempotency& settings) {
    enabled_ = settings.enabled;
    life_ = settings.lifetime;
    if (!enabled_) { // no caller waits for a store that is not written to
        waiting_.clear();
        if (std::exchange(ill_, false)) report_problem_("");
        for (const auto& [id, waits] : std::exchange(then_, {}))
            for (const auto& then : waits.then) then();
    }
    if (begun_) send();
}

void IdempotencyKeys::begin() {
    begun_ = true;
    send();
}

void IdempotencyKeys::seen(spool::QueueId id, const spool::Envelope& envelope) {
    const bool has_key = !envelope.idempotency_key.empty();
    const bool is_named = envelope.transferred && !envelope.transferred->node.empty();
    if ((!has_key && !is_named) || !enabled_ || then_.contains(id)) return;
    if (is_named) // without a check of what it has room for: these keys are few
        wait_for(common::idempotency::claim_of(*envelope.transferred, id),
                 envelope.transferred->time + common::idempotency::transfer_lifetime);
    if (has_key) {
        common::idempotency::Claim claim;
        claim.id = id;
        claim.digest = envelope.idempotency_digest;
        claim.submitter = envelope.submitter;
        claim.key = envelope.idempotency_key;
        wait_for(std::move(claim), envelope.arrival + life_);
    }
    if (!ill_) send();
}

void IdempotencyKeys::wait_for(common::idempotency::Claim claim, smtp::WallTime expires) {
    if (expires <= Loop::now().wall) return;
    const auto id = claim.id;
    if (waiting_.size() >= most_waiting) {
        log_.error("{}: its idempotency key is not stored: too many keys are waiting for the store", id.text());
        return;
    }
    claim.state = decide::idempotency::State::accepted;
    waiting_.push_back({.what = std::move(claim), .expires = expires});
    ++then_[id].keys;
}

void IdempotencyKeys::all_seen() {
    all_seen_ = true;
    if (!ill_) send();
}

void IdempotencyKeys::when_stored(spool::QueueId id, std::function<void()> then) {
    if (const auto waits = then_.find(id); waits != then_.end() && !ill_)
        waits->second.then.push_back(std::move(then));
    else
        then();
}

void IdempotencyKeys::look(std::function<void(store::Store*)> read) {
    pool_.post([read = std::move(read), back = back_, open = opened_ && enabled_] {
        read(open ? back->store.get() : nullptr);
    });
}

// The first job opens the store, with or without a key; one is under way at a time.
void IdempotencyKeys::send() {
    if (busy_ || !begun_ || !enabled_) return;
    if (back_->store && waiting_.empty() && (complete_ || !all_seen_)) return;
    busy_ = true;
    std::vector<AcceptedKey> some;
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(at_once, waiting_.size()));
    some.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    const bool whole = all_seen_ && !complete_ && waiting_.empty();
    pool_.post([this, alive = std::weak_ptr(alive_), &pool = pool_, back = back_, some = std::move(some), whole,
                now = Loop::now().wall]() mutable {
        std::string aside;
        auto result = back->write(some, whole, now, aside);
        pool.complete([this, alive, some = std::move(some), whole, result = std::move(result), aside]() mutable {
            if (!alive.expired()) sent(std::move(some), whole, result, std::move(aside));
        });
    });
}

void IdempotencyKeys::sent(std::vector<AcceptedKey> kept, bool whole, const spool::Result<>& result,
                           std::string aside) {
    busy_ = false;
    if (!aside.empty())
        log_.critical("the store of idempotency keys was moved aside as {}/data.mdb.damaged: {}; the keys of messages "
                      "that have left the spool are lost",
                      back_->directory, aside);
    std::vector<std::function<void()>> free;
    const auto let_go = [&](auto& waits) {
        std::ranges::move(std::exchange(waits.then, {}), std::back_inserter(free));
    };
    if (result) {
        opened_ = true;
        for (const auto& each : kept) {
            auto& waits = then_[each.what.id];
            if (waits.keys > 1) { // the other one is still to be stored
                --waits.keys;
                continue;
            }
            let_go(waits);
            then_.erase(each.what.id);
        }
        if (whole) log_.info("idempotency keys: all messages in the spool have been read");
        complete_ = complete_ || whole;
        if (std::exchange(ill_, false)) {
            log_.info("idempotency keys are stored again");
            report_problem_("");
        }
    } else {
        for (auto& [id, waits] : then_) let_go(waits);
        waiting_.insert(waiting_.begin(), std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
        if (!std::exchange(ill_, true)) {
            log_.error("idempotency keys are not stored: {}", result.error().what);
            report_problem_("idempotency keys are not stored: " + result.error().what);
        }
        retry_.start(retry_after);
    }
    for (const auto& then : free) then();
    if (!ill_) send();
}

} // namespace queue_manager
