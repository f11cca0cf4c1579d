// The verified addresses on disk: read when the queue-manager starts, and written soon after they change, off the loop.
// Not durable on purpose: what is lost is checked again. Without a usable store addresses are remembered in memory
// only. Knows the form of entries; must not know what they mean.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/verification/verified_addresses.h"
#include "libspool/disk/commit_pool.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace store {
class Lmdb;
}

namespace queue_manager {

class VerifiedStore {
public:
    using Change = decide::verification::VerifiedAddresses::Change;
    using Entry = decide::verification::Entry;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        spool::CommitPool& pool; // where it waits for the disk; its drain() brings results
        std::string directory;
        std::function<void(std::string text)> report_problem; // for `status`; "" clears it
        std::function<void(const std::string& key, Entry entry)> read;
    };
    explicit VerifiedStore(Dependencies dependencies);
    ~VerifiedStore();
    VerifiedStore(const VerifiedStore&) = delete;

    // Opens the store, which never grows beyond that size, and reads it part by part.
    void begin(std::uint64_t max_size);
    void write(std::vector<Change> changes);
    // The process ends: what is gathered is written now.
    void write_rest();

private:
    struct Job;
    struct Result;
    using Changes = std::map<std::string, Change>;

    void send();
    void done(Result result);
    void report(std::string text);

    Dependencies deps_;
    std::uint64_t max_size_ = 0; // 0: not begun
    std::shared_ptr<store::Lmdb> store_;
    Changes gathered_;
    bool all_read_ = false, busy_ = false;
    std::string read_upto_; // the last key; "" from the first
    common::Timer next_;
    std::string problem_; // logged and reported; "" none
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace queue_manager
