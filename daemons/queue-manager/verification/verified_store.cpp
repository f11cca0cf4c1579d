#include "daemons/queue-manager/verification/verified_store.h"
#include "daemons/common/store/lmdb.h"
#include <fmt/format.h>
#include <utility>

namespace queue_manager {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_changes = 20'000; // gathered; further ones are in memory only
constexpr std::size_t read_at_once = 2000, written_at_once = 500;
constexpr auto write_interval = 1s, retry_interval = 10s;

} // namespace

struct VerifiedStore::Result {
    spool::Result<> result;
    std::shared_ptr<store::Lmdb> store; // opened by this job
    std::string aside;                  // why the one before was replaced
    std::vector<store::KeyedEntry> read;
    bool all_read = false, skipped = false;
};

// What one job does, off the loop: opens the store if need be, then reads a part of it, or writes.
struct VerifiedStore::Job {
    std::string directory;
    std::uint64_t max_size = 0;
    std::shared_ptr<store::Lmdb> store;
    std::vector<store::Change> changes;
    smtp::WallTime now;
    bool all_read = false;
    std::string read_upto;

    spool::Result<> open(Result& out) {
        if (store) return {};
        store = TRY(store::Lmdb::open(
            directory,
            {.max_size = max_size, .when_full = store::LmdbOptions::WhenFull::skip_new_keys, .keeper = true}));
        out.store = store;
        out.aside = store->quarantine_reason();
        return {};
    }
    spool::Result<> run(Result& out) {
        TRY(open(out));
        if (!all_read) {
            out.read = TRY(store->walk("", read_upto, read_at_once, now));
            out.all_read = out.read.size() < read_at_once;
            return {};
        }
        out.all_read = true;
        for (std::span<const store::Change> rest = changes; !rest.empty();) {
            const auto some = rest.first(std::min(rest.size(), written_at_once));
            rest = rest.subspan(some.size());
            for (const auto& outcome : TRY(store->apply(some, now, store::Durable::soon)))
                out.skipped = out.skipped || !outcome.made;
        }
        return {};
    }
};

VerifiedStore::VerifiedStore(Dependencies dependencies)
    : deps_(std::move(dependencies)), next_(deps_.loop, [this] { send(); }) {}

VerifiedStore::~VerifiedStore() = default;

void VerifiedStore::begin(std::uint64_t max_size) {
    if (std::exchange(max_size_, max_size) == 0) send();
}

void VerifiedStore::write(std::vector<Change> changes) {
    for (auto& change : changes) {
        if (gathered_.size() >= most_changes && !gathered_.contains(change.key)) continue;
        const auto key = change.key;
        gathered_.insert_or_assign(key, std::move(change));
    }
    if (!gathered_.empty() && all_read_ && !busy_ && !next_.armed()) next_.start(write_interval);
}

void VerifiedStore::write_rest() {
    if (!gathered_.empty() && all_read_ && !busy_) send();
}

// One job is under way at a time.
void VerifiedStore::send() {
    busy_ = true;
    Job job{.directory = deps_.directory,
            .max_size = max_size_,
            .store = store_,
            .now = common::Loop::now().wall,
            .all_read = all_read_,
            .read_upto = read_upto_};
    if (all_read_)
        for (auto& [key, change] : std::exchange(gathered_, {}))
            job.changes.push_back(
                change.entry ? store::Change::put(key, {decide::verification::encode(*change.entry), change.expires})
                             : store::Change::erase(key));
    deps_.pool.post([this, alive = std::weak_ptr(alive_), &pool = deps_.pool, job = std::move(job)]() mutable {
        Result out;
        out.all_read = job.all_read;
        out.result = job.run(out);
        job.store.reset();
        pool.complete([this, alive, out = std::move(out)]() mutable {
            if (!alive.expired()) done(std::move(out));
        });
    });
}

void VerifiedStore::done(Result job) {
    busy_ = false;
    if (job.store) store_ = std::move(job.store);
    if (!job.aside.empty())
        deps_.log.error("verify: the verified addresses were moved aside as {}/data.mdb.damaged and a new store is "
                        "created; addresses are verified again: {}",
                        deps_.directory, job.aside);
    for (auto& each : job.read)
        if (auto entry = decide::verification::decode(each.entry.value)) deps_.read(each.key, *std::move(entry));
    if (!job.result) {
        report(job.result.error().what);
        store_.reset();
        return next_.start(retry_interval);
    }
    if (!all_read_ && !job.read.empty()) read_upto_ = job.read.back().key;
    report(job.skipped ? fmt::format("{} has reached its maximum size", deps_.directory) : "");
    all_read_ = job.all_read;
    if (!all_read_) return send();
    if (!gathered_.empty()) next_.start(write_interval);
}

void VerifiedStore::report(std::string text) {
    if (text == problem_) return;
    problem_ = std::move(text);
    if (problem_.empty())
        deps_.log.info("verify: verified addresses are stored again");
    else
        deps_.log.error("verify: verified addresses are not all stored, and are verified again after a restart: {}",
                        problem_);
    deps_.report_problem(problem_.empty() ? "" : "verified addresses are not all stored: " + problem_);
}

} // namespace queue_manager
