#include "daemons/queue-manager/spool/spool_scanner.h"
#include "libspool/message/file_search.h"
#include <algorithm>
#include <cerrno>
#include <span>

namespace queue_manager {

namespace {
constexpr std::size_t looked_for_at_once = 16; // files: few, because the next message due waits for all of them
}

// The first messages, if any, then the directories: those begin when these are done, because by then it is known which
// files need not be read again.
struct SpoolScanner::Scan {
    spool::RecoveryScan rest; // directories not begun
    bool everything;
    std::vector<spool::SnapshotMessage> first = {};
    std::shared_ptr<std::unordered_set<spool::QueueId>> known = {}; // those of them that were found
    std::size_t looked_for = 0;                                     // of `first`
    bool begun = false;                                             // the directories are
    std::size_t running = 0;                                        // parts
};

// One directory of a scan.
struct SpoolScanner::Part {
    std::shared_ptr<Scan> of;
    spool::RecoveryScan scan;
};

void SpoolScanner::load_everything(std::vector<spool::SnapshotMessage> first,
                                   std::shared_ptr<const spool::FinishedIndex> finished) {
    loading_ = true;
    finished_before_ = std::move(finished);
    auto known = std::make_shared<std::unordered_set<spool::QueueId>>();
    auto rest = spool::RecoveryScan::everything(pool_.disk(), {.known = known, .finished = finished_before_});
    start(std::make_shared<Scan>(std::move(rest), true, std::move(first), std::move(known)));
}

void SpoolScanner::load_writer(std::uint8_t slot) {
    start(
        std::make_shared<Scan>(spool::RecoveryScan::writer(pool_.disk(), slot, {.finished = finished_before_}), false));
}

void SpoolScanner::load_unread() {
    start(std::make_shared<Scan>(
        spool::RecoveryScan::again(pool_.disk(), std::exchange(unread_, {}), {.finished = finished_before_}), false));
}

void SpoolScanner::start(std::shared_ptr<Scan> scan) {
    ++scans_;
    advance(scan);
}

// As many parts at a time as there are threads, except for some that are left to writers.
void SpoolScanner::advance(const std::shared_ptr<Scan>& scan) {
    const auto side_by_side = std::max<std::size_t>(1, pool_.threads() - pool_.threads() / 4);
    while (scan->running < side_by_side && scan->looked_for < scan->first.size()) {
        ++scan->running;
        look_for_some(scan);
    }
    if (!scan->begun && scan->running > 0) return;
    scan->begun = true;
    while (scan->running < side_by_side) {
        auto next = scan->rest.split_off();
        if (!next) return;
        ++scan->running;
        step(std::make_shared<Part>(scan, *std::move(next)));
    }
}

void SpoolScanner::look_for_some(std::shared_ptr<Scan> scan) {
    const auto left = std::span<const spool::SnapshotMessage>(scan->first).subspan(scan->looked_for);
    const auto some = left.first(std::min(looked_for_at_once, left.size()));
    scan->looked_for += some.size();
    pool_.post([this, scan = std::move(scan), some, finished = finished_before_]() mutable {
        std::vector<spool::Found> batch;
        for (const auto& each : some)
            if (auto one = spool::find_message(pool_.disk(), each.id, each.location, finished))
                batch.push_back(*std::move(one));
        pool_.complete([this, scan = std::move(scan), batch = std::move(batch)]() mutable {
            for (auto& each : batch)
                if (scan->known->insert(each.id).second) found(std::move(each));
            part_ended(scan);
        });
    });
}

void SpoolScanner::step(std::shared_ptr<Part> part) {
    pool_.post([this, part = std::move(part)]() mutable {
        auto batch = part->scan.step();
        pool_.complete(
            [this, part = std::move(part), batch = std::move(batch)]() mutable { take(part, std::move(batch)); });
    });
}

void SpoolScanner::take(const std::shared_ptr<Part>& part, spool::ScanBatch batch) {
    for (auto& each : batch.found) found(std::move(each));
    for (auto& aside : batch.quarantined) callbacks_.put_aside(aside);
    for (const auto id : batch.finished_before)
        if (callbacks_.finished_before) callbacks_.finished_before(id);
    for (auto& error : batch.errors) callbacks_.unreadable(error);
    unread_.merge(batch.unread_directories);
    if (!unread_.empty() && callbacks_.unread) callbacks_.unread();
    if (!part->scan.finished()) return step(part);
    part_ended(part->of);
}

void SpoolScanner::found(spool::Found&& found) {
    if (finished_.contains(found.id)) return;
    if (found.writer_alive) unannounced_.insert(found.id);
    callbacks_.found(std::move(found));
}

void SpoolScanner::part_ended(const std::shared_ptr<Scan>& scan) {
    --scan->running;
    advance(scan);
    if (scan->running > 0) return;
    if (--scans_ == 0) {
        for (const auto id : gone_) finished_.erase(id);
        gone_.clear();
    }
    if (scan->everything) loading_ = false;
    if (!loading_ && unread_.empty()) finished_before_.reset();
    if (scan->everything) callbacks_.all_loaded();
}

void SpoolScanner::when_unlocked(spool::QueueId id, spool::FileHint hint, std::function<void()> free) {
    // The kernel does not report that a lock is released: a thread checks, and the caller asks again after a while.
    pool_.post([this, id, hint, free = std::move(free)]() mutable {
        spool::FileSearch search(pool_.disk(), id, hint);
        const auto found = search.next();
        if (!found) return; // not known: asked again
        if (*found) {
            const auto locked = pool_.disk().lock((*found)->file, spool::Lock::exclusive);
            if (!locked || *locked == spool::Locked::held_by_another) return;
        }
        pool_.complete([free = std::move(free)] { free(); });
    });
}

} // namespace queue_manager
