// Threads that wait for the disk so that a loop need not: jobs go in, their completions come back on the
// caller's thread. Directory syncs are shared: one serves every file that was synced before it began. Only
// here is a DurableReceipt made. Knows nothing of what a file holds.
#pragma once
#include "libspool/disk.h"
#include "libspool/queue_id.h"
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace spool {

// Proof that a message is on stable storage. Only the pool that synced it can make one, and only this makes a
// 250.
class DurableReceipt {
public:
    QueueId queue_id() const { return id_; }
    std::uint64_t size() const { return size_; } // bytes of content

private:
    friend class CommitPool;
    DurableReceipt(QueueId id, std::uint64_t size) : id_(id), size_(size) {}
    QueueId id_;
    std::uint64_t size_;
};

// Syncs of one directory, shared by all who wait for it. Must outlive the pool's work on it.
class SharedDirectory {
public:
    // Opens it; it must exist.
    static Result<std::unique_ptr<SharedDirectory>> open(Disk& disk, std::string path);
    const std::string& path() const { return path_; }
    std::uint64_t syncs() const { return syncs_; }

private:
    friend class CommitPool;
    struct Waiting;
    SharedDirectory(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}
    std::string path_;
    File file_;
    std::mutex mutex_;
    bool running_ = false;
    std::vector<std::move_only_function<void(const Result<>&)>> waiting_;
    std::uint64_t syncs_ = 0;
};

class CommitPool {
public:
    using Work = std::move_only_function<void()>;       // on one of the threads
    using Completion = std::move_only_function<void()>; // on the thread that calls drain()

    // `wake` is called on any thread when there is something to drain, once until drain() has been called.
    CommitPool(Disk& disk, unsigned threads, std::function<void()> wake);
    // Finishes what was posted, without completions that were not drained.
    ~CommitPool();
    CommitPool(const CommitPool&) = delete;

    Disk& disk() { return disk_; }

    // In any order, side by side.
    void post(Work work);
    void post_all(std::vector<Work> work);
    // From a job: have this called in drain().
    void complete(Completion completion);
    // Runs the completions that are ready; call it when woken.
    void drain();

    // From a job that has written all of `file` under its name in `directory`: syncs both and delivers the
    // receipt, or what failed, through drain(). The directory's sync may be done by another thread for many
    // at once.
    void make_durable(const File& file, SharedDirectory& directory, QueueId id, std::uint64_t size,
                      std::move_only_function<void(Result<DurableReceipt>)> done);

    // Posted and not yet drained.
    std::uint64_t outstanding() const { return outstanding_; }
    // File and directory syncs so far, for the books.
    std::uint64_t file_syncs() const { return file_syncs_.load(std::memory_order_relaxed); }

private:
    void run();
    void sync_directory(SharedDirectory& directory);

    Disk& disk_;
    std::function<void()> wake_;
    std::mutex mutex_;
    std::condition_variable work_ready_;
    std::vector<Work> work_; // a ring would save little: taken from the front in batches
    std::size_t work_next_ = 0;
    unsigned idle_ = 0;
    bool stopping_ = false;
    std::mutex done_mutex_;
    std::vector<Completion> done_;
    bool woken_ = false;
    std::atomic<std::uint64_t> file_syncs_{0};
    std::uint64_t outstanding_ = 0;
    std::vector<std::thread> threads_;
};

} // namespace spool
