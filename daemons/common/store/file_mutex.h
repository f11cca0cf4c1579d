// Turns at what one thread of one process may do at a time, by a lock on a file: whoever dies, the kernel gives it to
// the next. LMDB's own mutexes in shared memory do not promise that: a process that is killed just when it was woken for
// one takes the wake-up with it, and when a third has the mutex by then, another sleeps on though it becomes free. They
// are taken in turn, and so nobody ever waits for them. Knows files and threads; nothing of what the turn is at.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <memory>
#include <mutex>
#include <string>

namespace store {

class FileMutex {
public:
    // Makes the file if there is none. Errors: of open(2).
    static spool::Result<std::unique_ptr<FileMutex>> open(const std::string& path);

    // As of a mutex; lock() waits. Where the file system has no locks, threads of this process alone take turns.
    void lock();
    void unlock();

private:
    explicit FileMutex(common::Fd file) : file_(std::move(file)) {}
    std::mutex mutex_; // a lock on a file is its process's, not its thread's
    common::Fd file_;
};

} // namespace store
