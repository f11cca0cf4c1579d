// What the tests of clients remember, by address: shared by all smtpd processes and kept over a restart, in a store
// of its own. What is written is gathered and written off the loop. Not durable on purpose: whatever is lost, the tests
// are made again. A full store takes no new addresses until others have gone; it still renews those it has, and its
// keeper removes those whose passes are over. Without a usable store nothing is known, and mail flows. Knows no tests.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/screening/screening.h"
#include "libspool/disk/commit_pool.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace store {
class Lmdb;
}

namespace smtpd {

class ClientMemory {
public:
    using Passes = decide::screening::Passes;
    using ProblemReporter = std::function<void(std::string_view)>; // for `postrider status`; "" clears it
    struct Place {
        std::string directory;
        std::uint64_t max_size = 0;
        bool keeper = false; // this process creates the store, and replaces a damaged one
    };

    // `pool`: where it waits for the disk; its drain() brings results. All outlive it.
    ClientMemory(common::Loop& loop, common::Log& log, spool::CommitPool& pool, Place place,
                 ProblemReporter report_problem);
    ~ClientMemory();
    ClientMemory(const ClientMemory&) = delete;

    // Tests are made from now on: opens the store.
    void begin();
    // None: it is not known, or cannot be read now.
    std::optional<Passes> find(const std::string& address, smtp::WallTime now);
    // Until `expires`.
    void remember(const std::string& address, const Passes& passes, smtp::WallTime expires);
    // The process ends: what is gathered is written now.
    void write_rest();

private:
    struct Entry {
        Passes passes;
        smtp::WallTime expires;
    };
    using Entries = std::map<std::string, Entry, std::less<>>;
    struct Job;
    struct Result;

    void open_again();
    void send();
    void done(Result result);
    void report(std::string text);

    common::Log& log_;
    spool::CommitPool& pool_;
    const Place place_;
    ProblemReporter report_problem_;
    std::shared_ptr<store::Lmdb> store_;
    Entries gathered_, being_written_;
    common::Timer next_write_;
    smtp::Monotonic tried_{}; // when it was last opened or written
    bool begun_ = false, busy_ = false;
    bool full_ = false;      // since new addresses did not fit
    std::string swept_upto_; // by the keeper of a full store: the last address; "" from the first
    std::string problem_;    // logged and reported; "" none
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace smtpd
