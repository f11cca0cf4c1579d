// Threads that wait for the disk so that an event loop need not: jobs go in, their completions come back on the
// caller's thread. Directory syncs are shared: one covers every file that was synced before it began. A DurableReceipt
// is created only here. Must not know what a file contains.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/queue_id.h"
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
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
    std::uint64_t size() const { return size_; }         // bytes of content
    QueueId reused_file() const { return reused_file_; } // the reused file it is in; own_file: it has its own

private:
    friend class CommitPool;
    DurableReceipt(QueueId id, std::uint64_t size, QueueId file) : id_(id), size_(size), reused_file_(file) {}
    QueueId id_;
    std::uint64_t size_;
    QueueId reused_file_;
};

// Syncs of one directory, shared by all jobs that wait for it. Must outlive the pool's work on it. Once a sync has
// failed, it is broken permanently: the kernel reports an error once and then forgets it.
class SharedDirectory {
public:
    // Opens it; it must exist.
    static Result<std::unique_ptr<SharedDirectory>> open(Disk& disk, std::string path);
    const std::string& path() const { return path_; }
    std::uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }

private:
    friend class CommitPool;
    using Waiter = std::move_only_function<void(Result<>)>;
    SharedDirectory(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}
    std::string path_;
    File file_;
    std::mutex mutex_;
    bool running_ = false;
    Result<> broken_;
    std::vector<Waiter> waiting_;
    std::atomic<std::uint64_t> syncs_{0};
};

class CommitPool {
public:
    using Work = std::move_only_function<void()>;       // on one of the threads
    using Completion = std::move_only_function<void()>; // on the thread that calls drain()

    // `wake` is called on any thread when there is something to drain, once until drain() has been called.
    // Without threads (0) every job runs inside post(): for tests and small tools.
    CommitPool(Disk& disk, unsigned threads, std::function<void()> wake);
    // Finishes what was posted; completions that were not drained are dropped.
    ~CommitPool();
    CommitPool(const CommitPool&) = delete;

    Disk& disk() { return disk_; }
    std::size_t threads() const { return threads_.size(); }

    // In any order, in parallel. From any thread.
    void post(Work work);
    // From a job: have this called in drain().
    void complete(Completion completion);
    // Runs the completions that are ready; call it when woken.
    void drain();

    // What the receipt is for.
    struct Commit {
        QueueId id;
        std::uint64_t size = 0;   // bytes of content
        QueueId reused_file = {}; // the reused file it is in, if it is in one
    };
    // From a job that has written all of `file` under its name in `directory`: syncs both, then calls `done`
    // with the receipt or what failed — on one of the threads, perhaps another one: one directory sync serves
    // many.
    void make_durable(const File& file, SharedDirectory& directory, const Commit& commit,
                      std::move_only_function<void(Result<DurableReceipt>)> done);
    // From a job that has overwritten bytes of `file`, whose name and size are durable: syncs these bytes.
    Result<DurableReceipt> make_overwrite_durable(const File& file, const Commit& commit);

    // Jobs and completions posted and not finished yet.
    std::uint64_t outstanding() const { return outstanding_.load(std::memory_order_acquire); }
    // File syncs by make_durable so far, for statistics.
    std::uint64_t file_syncs() const { return file_syncs_.load(std::memory_order_relaxed); }

private:
    void run();
    void sync_directory(SharedDirectory& directory);

    Disk& disk_;
    std::function<void()> wake_;
    std::mutex mutex_;
    std::condition_variable work_ready_;
    std::deque<Work> work_;
    unsigned idle_ = 0;
    bool stopping_ = false;
    std::mutex done_mutex_;
    std::vector<Completion> done_;
    bool woken_ = false;
    std::atomic<std::uint64_t> file_syncs_{0};
    std::atomic<std::uint64_t> outstanding_{0};
    std::vector<std::thread> threads_;
};

} // namespace spool
