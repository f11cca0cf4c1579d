#include "daemons/queue-manager/loader.h"
#include <algorithm>

namespace queue_manager {

struct Loader::Scan {
    spool::RecoveryScan rest; // directories not begun
    bool everything;
    std::size_t running = 0; // parts
};

// One directory of a scan.
struct Loader::Part {
    std::shared_ptr<Scan> of;
    spool::RecoveryScan scan;
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
    advance(scan);
}

// As many directories at a time as there are threads, but for some that are left to those who write.
void Loader::advance(const std::shared_ptr<Scan>& scan) {
    const auto side_by_side = std::max<std::size_t>(1, pool_.threads() - pool_.threads() / 4);
    while (scan->running < side_by_side) {
        auto next = scan->rest.split_off();
        if (!next) return;
        ++scan->running;
        step(std::make_shared<Part>(scan, *std::move(next)));
    }
}

void Loader::step(std::shared_ptr<Part> part) {
    pool_.post([this, part = std::move(part)]() mutable {
        auto batch = part->scan.step();
        pool_.complete([this, part = std::move(part), batch = std::move(batch)]() mutable {
            take(part, std::move(batch));
        });
    });
}

void Loader::take(const std::shared_ptr<Part>& part, spool::ScanBatch batch) {
    for (auto& found : batch.found)
        if (!finished_.contains(found.id)) callbacks_.found(std::move(found));
    for (auto& aside : batch.put_aside) callbacks_.put_aside(aside);
    for (auto& error : batch.errors) callbacks_.unreadable(error);
    if (!part->scan.finished()) return step(part);
    const auto& scan = part->of;
    --scan->running;
    advance(scan);
    if (scan->running > 0) return;
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
