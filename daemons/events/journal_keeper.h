// Carries out what keeper_plan.h decides, one step after the other. Blocking, for a thread of its own; a step can be
// given up, and is then begun again. What it leaves when the process is killed is as readable as before.
#pragma once
#include "daemons/common/history/index_key.h"
#include "daemons/events/erasures.h"
#include "daemons/events/keeper_plan.h"
#include "libspool/disk/real_disk.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace events {

// What a step did, for the log.
struct KeeperReport {
    std::optional<KeeperStep> step;             // nothing: there was nothing to do
    std::uint64_t events = 0;                   // indexed, or erased
    bool erased_all = false;                    // an address is in no segment any longer
    std::uint64_t bytes = 0;                    // removed
    std::optional<std::int64_t> time_that_fits; // keeper_plan.h
    std::uint64_t unindexed = 0, unsealed = 0;  // segments that remain, without the newest
};

class JournalKeeper {
public:
    // `path` of the journal's directory. ENOENT: there is no journal yet. `dead`: held while dead letters are replaced.
    static spool::Result<std::unique_ptr<JournalKeeper>>
    open(const std::string& path, std::shared_ptr<Erasures> erasures = std::make_shared<Erasures>(),
         std::shared_ptr<std::mutex> dead = std::make_shared<std::mutex>());
    JournalKeeper(std::string path, std::unique_ptr<spool::RealDisk> disk, std::shared_ptr<Erasures> erasures,
                  std::shared_ptr<std::mutex> dead);

    // At most one step. `now` in seconds since 1970. An error is one of the disk.
    spool::Result<KeeperReport> work(const KeepLimits& limits, std::int64_t now, const std::atomic<bool>& give_up);

private:
    spool::Result<std::vector<KeptSegment>> look() const;
    spool::Result<> load_secret();
    spool::Result<> seal(std::uint64_t first, const std::atomic<bool>& give_up);
    spool::Result<> index(std::uint64_t first, const std::atomic<bool>& give_up, KeeperReport& report);
    // True: it has done something about what is to be erased.
    spool::Result<bool> erase(const std::vector<KeptSegment>& segments, const std::atomic<bool>& give_up,
                              KeeperReport& report);
    spool::Result<> remove(std::uint64_t first);
    spool::Result<> remove_file(std::uint64_t first, std::string_view suffix);

    std::string path_;
    std::unique_ptr<spool::RealDisk> disk_;
    std::shared_ptr<Erasures> erasures_;
    std::shared_ptr<std::mutex> dead_;
    std::optional<history::IndexHash> hash_;
    std::vector<std::uint64_t> not_indexable_;
};

} // namespace events
