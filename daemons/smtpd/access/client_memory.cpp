#include "daemons/smtpd/access/client_memory.h"
#include "daemons/common/store/lmdb.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <span>
#include <utility>
#include <vector>

namespace smtpd {

using namespace std::chrono_literals;

static constexpr std::size_t most_gathered = 10'000; // addresses; further ones are tested again
static constexpr auto write_interval = 1s, open_interval = 1s, retry_interval = 10s;

static constexpr std::size_t written_at_once = 500; // addresses: a store that is almost full has room for them
static constexpr std::size_t swept_at_once = 2000;

struct ClientMemory::Result {
    spool::Result<> result;
    std::shared_ptr<store::Lmdb> store; // opened by this job
    std::string aside;                  // why the one before was replaced
    bool took_new = false, skipped_new = false;
    std::string swept_upto;
};

// What one job does, off the loop.
struct ClientMemory::Job {
    Place place;
    std::shared_ptr<store::Lmdb> store;
    std::vector<store::Change> changes;
    smtp::WallTime now;
    std::string swept_upto;

    spool::Result<> open(Result& out) {
        if (store) return {};
        using Options = store::LmdbOptions;
        store = TRY(store::Lmdb::open(place.directory, {.max_size = place.max_size,
                                                        .when_full = Options::WhenFull::skip_new_keys,
                                                        .keeper = place.keeper,
                                                        .examined = Options::Examined::report_busy}));
        out.store = store;
        out.aside = store->quarantine_reason();
        return {};
    }

    spool::Result<> write(Result& out) {
        for (std::span<const store::Change> rest = changes; !rest.empty();) {
            const auto some = rest.first(std::min(rest.size(), written_at_once));
            rest = rest.subspan(some.size());
            for (const auto& outcome : TRY(store->apply(some, now, store::Durable::soon))) {
                out.took_new = out.took_new || (outcome.made && !outcome.before);
                out.skipped_new = out.skipped_new || !outcome.made;
            }
        }
        return {};
    }

    // Entries that are kept only for the log go first.
    spool::Result<> sweep(Result& out) {
        const auto entries = TRY(store->walk("", swept_upto, swept_at_once, now));
        std::vector<store::Change> over;
        for (const auto& [address, entry] : entries) {
            const auto passes = decide::screening::decode(entry.value);
            if (!passes || passes->last() <= now) over.push_back(store::Change::erase_if(address, entry.value));
        }
        if (!over.empty()) TRY(store->apply(over, now, store::Durable::soon));
        out.swept_upto = entries.size() < swept_at_once ? "" : entries.back().key;
        return {};
    }

    spool::Result<> run(Result& out) {
        TRY(open(out));
        TRY(write(out));
        if (out.skipped_new && place.keeper) return sweep(out);
        return {};
    }
};

ClientMemory::ClientMemory(common::Loop& loop, common::Log& log, spool::CommitPool& pool, Place place,
                           ProblemReporter report_problem)
    : log_(log), pool_(pool), place_(std::move(place)), report_problem_(std::move(report_problem)),
      next_write_(loop, [this] { send(); }) {}

ClientMemory::~ClientMemory() = default;

void ClientMemory::begin() {
    if (std::exchange(begun_, true)) return;
    send();
}

// A process that waits for the keeper, or had a failure, tries again when an address is looked up.
void ClientMemory::open_again() {
    if (busy_ || !begun_ || common::Loop::now().monotonic - tried_ < open_interval) return;
    send();
}

std::optional<ClientMemory::Passes> ClientMemory::find(const std::string& address, smtp::WallTime now) {
    for (const auto* entries : {&gathered_, &being_written_})
        if (const auto at = entries->find(address); at != entries->end()) return at->second.passes;
    if (!store_) {
        open_again();
        return {};
    }
    const auto found = store_->get(address, now);
    if (found) return *found ? decide::screening::decode((*found)->value) : std::nullopt;
    report(found.error().what);
    if (!busy_) store_.reset(); // opened again, by the keeper after an examination
    return {};
}

void ClientMemory::remember(const std::string& address, const Passes& passes, smtp::WallTime expires) {
    if (gathered_.size() >= most_gathered && !gathered_.contains(address)) return;
    gathered_[address] = {passes, expires};
    if (busy_ || next_write_.armed()) return;
    const auto since = common::Loop::now().monotonic - tried_;
    if (since >= write_interval)
        send();
    else
        next_write_.start(write_interval - since);
}

void ClientMemory::write_rest() {
    if (!gathered_.empty() && !busy_) send();
}

// Opens the store if need be, and writes what is gathered. One job is under way at a time.
void ClientMemory::send() {
    busy_ = true;
    tried_ = common::Loop::now().monotonic;
    being_written_ = std::exchange(gathered_, {});
    std::vector<store::Change> changes;
    changes.reserve(being_written_.size());
    for (const auto& [address, entry] : being_written_)
        changes.push_back(store::Change::put(address, {decide::screening::encode(entry.passes), entry.expires}));
    pool_.post([this, alive = std::weak_ptr(alive_), &pool = pool_,
                job = Job{place_, store_, std::move(changes), common::Loop::now().wall, swept_upto_}]() mutable {
        Result out;
        out.swept_upto = job.swept_upto;
        out.result = job.run(out);
        job.store.reset();
        pool.complete([this, alive, out = std::move(out)]() mutable {
            if (!alive.expired()) done(std::move(out));
        });
    });
}

void ClientMemory::done(Result job) {
    busy_ = false;
    being_written_.clear();
    if (job.store) store_ = std::move(job.store);
    if (!job.aside.empty())
        log_.error("the memory of clients was moved aside as {}/data.mdb.damaged and a new one is created; clients "
                   "are tested again: {}",
                   place_.directory, job.aside);
    swept_upto_ = std::move(job.swept_upto);
    if (job.skipped_new)
        full_ = true;
    else if (job.took_new)
        full_ = false;
    if (job.result) {
        report(full_ ? fmt::format("{} has reached its maximum size (client_tests.maximum_memory)", place_.directory)
                     : "");
    } else {
        // Until its keeper has made or examined it there is nothing to report.
        const auto& error = job.result.error();
        if (place_.keeper || (error.code != ENOENT && error.code != EBUSY)) report(error.what);
        if (error.code != ENOSPC) store_.reset();
        if (!store_) next_write_.start(problem_.empty() ? open_interval : retry_interval);
    }
    if (!gathered_.empty() && !next_write_.armed()) next_write_.start(write_interval);
}

void ClientMemory::report(std::string text) {
    if (text == problem_) return;
    problem_ = std::move(text);
    if (problem_.empty())
        log_.info("clients that pass the tests are remembered again");
    else
        log_.error("clients that pass the tests are not all remembered: {}", problem_);
    report_problem_(problem_.empty() ? "" : "clients that pass the tests are not all remembered: " + problem_);
}

} // namespace smtpd
