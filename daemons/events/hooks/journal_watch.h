// Watches how far the journal is on stable storage, as the queue-manager publishes it. Opens its directory as soon as
// there is one. Knows no event.
#pragma once
#include "daemons/common/history/address_hash.h"
#include "daemons/common/runtime/pool_work.h"
#include "daemons/common/runtime/timer.h"
#include "libspool/disk/real_disk.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace events {

class JournalWatch {
public:
    struct View {
        std::shared_ptr<spool::RealDisk> disk; // of its directory
        std::string node;
        std::shared_ptr<const history::AddressHash> hash; // null: addresses are not hashed
        std::uint64_t published = 0;
    };
    // `looked` is called four times a second, when there is a journal; `failed` when it cannot be read, with an error
    // that is new, and with "" when it can again.
    JournalWatch(common::Loop& loop, std::string path, std::function<void(const View&)> looked,
                 std::function<void(const std::string& error)> failed);

    const std::string& path() const { return path_; }
    const View& view() const { return view_; }

private:
    void look();
    void take(spool::Result<View> seen);

    std::string path_;
    std::function<void(const View&)> looked_;
    std::function<void(const std::string&)> failed_;
    View view_;
    std::string error_;
    common::PoolWork work_;
    common::Timer timer_;
};

} // namespace events
