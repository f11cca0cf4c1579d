#include "daemons/queue-manager/loader.h"

namespace queue_manager {

struct Loader::Scan {
    spool::RecoveryScan scan;
    bool everything;
};

void Loader::load_everything() {
    loading_ = true;
    start(std::make_shared<Scan>(spool::RecoveryScan::everything(pool_.disk()), true));
}

void Loader::load_writer(std::uint8_t slot) {
    start(std::make_shared<Scan>(spool::RecoveryScan::writer(pool_.disk(), slot), false));
}

void Loader::start(std::shared_ptr<Scan> scan) {
    ++scans_;
    step(std::move(scan));
}

void Loader::step(std::shared_ptr<Scan> scan) {
    pool_.post([this, scan = std::move(scan)]() mutable {
        auto batch = scan->scan.step();
        pool_.complete([this, scan = std::move(scan), batch = std::move(batch)]() mutable {
            take(scan, std::move(batch));
        });
    });
}

void Loader::take(const std::shared_ptr<Scan>& scan, spool::ScanBatch batch) {
    for (auto& found : batch.found)
        if (!finished_.contains(found.id)) callbacks_.found(std::move(found));
    for (auto& aside : batch.put_aside) callbacks_.put_aside(aside);
    for (auto& error : batch.errors) callbacks_.unreadable(error);
    if (!scan->scan.finished()) return step(scan);
    if (--scans_ == 0) {
        for (const auto id : gone_) finished_.erase(id);
        gone_.clear();
    }
    if (!scan->everything) return;
    loading_ = false;
    callbacks_.all_loaded();
}

void Loader::when_unlocked(spool::QueueId id, spool::Location location, std::function<void()> free) {
    // The kernel tells nobody when a lock goes: a thread looks, and the caller asks again after a while.
    pool_.post([this, id, location, free = std::move(free)]() mutable {
        auto file = pool_.disk().open(spool::path_of(id, location), spool::Open::read);
        const auto locked = file ? pool_.disk().lock(*file, spool::Lock::exclusive)
                                 : spool::Result<spool::Locked>(spool::Locked::yes);
        if (!locked || *locked == spool::Locked::yes) pool_.complete([free = std::move(free)] { free(); });
    });
}

} // namespace queue_manager
