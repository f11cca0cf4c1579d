// Mutual exclusion between threads and processes by a lock on a file: if the owner dies, the kernel gives it to
// the next. LMDB's own mutexes in shared memory do not guarantee that: a process that is killed just when it
// was woken for one loses the wake-up, and if a third has the mutex by then, another sleeps on although it
// becomes free. With this lock, no process ever waits for them. Knows files and threads; not what is protected.
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
