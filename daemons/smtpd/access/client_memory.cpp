#include "daemons/smtpd/access/client_memory.h"
#include "daemons/common/store/lmdb.h"
#include <cerrno>
#include <utility>

namespace smtpd {

using namespace std::chrono_literals;

static constexpr std::size_t most_gathered = 10'000; // addresses; further ones are tested again
static constexpr auto write_interval = 1s, open_interval = 1s, retry_interval = 10s;

struct ClientMemory::Result {
    spool::Result<> result;
    std::shared_ptr<store::Lmdb> store; // opened by this job
    std::string aside;                  // why the one before was replaced
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

// Opens the store if need be, and writes what is gathered, in one transaction. One job is under way at a time.
void ClientMemory::send() {
    busy_ = true;
    tried_ = common::Loop::now().monotonic;
    being_written_ = std::exchange(gathered_, {});
    std::vector<store::Change> changes;
    changes.reserve(being_written_.size());
    for (const auto& [address, entry] : being_written_)
        changes.push_back(store::Change::put(address, {decide::screening::encode(entry.passes), entry.expires}));
    pool_.post([this, alive = std::weak_ptr(alive_), &pool = pool_, place = place_, opened = store_,
                changes = std::move(changes), now = common::Loop::now().wall]() mutable {
        Result out;
        out.result = [&]() -> spool::Result<> {
            if (!opened) {
                opened =
                    TRY(store::Lmdb::open(place.directory, {.max_size = place.max_size,
                                                            .keeper = place.keeper,
                                                            .examined = store::LmdbOptions::Examined::report_busy}));
                out.store = opened;
                out.aside = opened->quarantine_reason();
            }
            if (!changes.empty()) TRY(opened->apply(changes, now, store::Durable::soon));
            return {};
        }();
        opened.reset();
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
    if (job.result) {
        report("");
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
