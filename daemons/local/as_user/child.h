// A process that runs as a user, and those that were killed and have not ended. A user may stop a process that runs
// as them, and may make it wait for a file system that never answers; the waiting side must neither wait forever nor
// lose the process.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <cstddef>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace local {

// Processes that were killed and sleep in the kernel, by user. For several threads.
class UnreapedProcesses {
public:
    // With this number of one user's, no other process is started for that user.
    static constexpr std::size_t max_per_user = 2;

    void add(const std::string& user, pid_t pid);
    // Number of those that have still not ended; those that have are reaped.
    std::size_t count(const std::string& user);
    std::size_t count();

private:
    std::mutex mutex_;
    std::map<std::string, std::vector<pid_t>> pids_;
};

class Child {
public:
    // `unreaped` must outlive it.
    Child(std::string user, UnreapedProcesses& unreaped) : user_(std::move(user)), unreaped_(unreaped) {}
    ~Child() { end(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    // As as_user::start_process(). Error EBUSY: too many of the user's have not ended.
    spool::Result<> start(std::string_view work, std::initializer_list<int> descriptors);
    bool running() const { return pid_ > 0; }
    int descriptor() const { return watched_.number(); } // readable once it has ended
    // Waits at most `patience` ms (-1: as long as it takes); true: it has ended, and status() is that of wait(2).
    bool wait(int patience);
    int status() const { return status_; }
    // Kills the process if it runs, with its session, and waits at most `patience` ms for it to end.
    void end(int patience = 1000);

private:
    std::string user_;
    UnreapedProcesses& unreaped_;
    pid_t pid_ = 0;
    common::Fd watched_; // a pidfd
    int status_ = 0;
};

} // namespace local
