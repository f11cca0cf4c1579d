// A process of a user's, and those that were killed and have not ended. A user may stop a process that runs as them,
// and may have it wait for a file system that never answers; whoever waits for it must neither wait for ever nor lose
// it.
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
    // So many of one user's, and no other process is started for them.
    static constexpr std::size_t max_per_user = 2;

    void add(const std::string& user, pid_t pid);
    // That have still not ended; those that have are waited for.
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
    // Waits at most so many ms (-1: as long as it takes); true: it has ended, and status() is what wait(2) says.
    bool wait(int patience);
    int status() const { return status_; }
    // Kills what runs, with its session, and waits so many ms for that to have an effect.
    void end(int patience = 1000);

private:
    std::string user_;
    UnreapedProcesses& unreaped_;
    pid_t pid_ = 0;
    common::Fd watched_; // a pidfd
    int status_ = 0;
};

} // namespace local
