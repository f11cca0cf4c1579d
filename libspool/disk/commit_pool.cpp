#include "libspool/disk/commit_pool.h"
#include <csignal>
#include <utility>

namespace spool {

Result<std::unique_ptr<SharedDirectory>> SharedDirectory::open(Disk& disk, std::string path) {
    File file = TRY(disk.open(path, Open::directory));
    return std::unique_ptr<SharedDirectory>(new SharedDirectory(std::move(path), std::move(file)));
}

CommitPool::CommitPool(Disk& disk, unsigned threads, std::function<void()> wake) : disk_(disk), wake_(std::move(wake)) {
    // Signals are handled by the event loop.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned n = 0; n < threads; ++n) threads_.emplace_back([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

CommitPool::~CommitPool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    work_ready_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void CommitPool::post(Work work) {
    outstanding_.fetch_add(1, std::memory_order_acq_rel);
    if (threads_.empty()) {
        work();
        outstanding_.fetch_sub(1, std::memory_order_acq_rel);
        return;
    }
    bool somebody_sleeps;
    {
        const std::lock_guard lock(mutex_);
        work_.push_back(std::move(work));
        somebody_sleeps = idle_ > 0;
    }
    if (somebody_sleeps) work_ready_.notify_one();
}

void CommitPool::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        while (work_.empty() && !stopping_) {
            ++idle_;
            work_ready_.wait(lock);
            --idle_;
        }
        if (work_.empty()) return;
        {
            Work work = std::move(work_.front());
            work_.pop_front();
            lock.unlock();
            work();
        } // what the job held is released without the lock
        outstanding_.fetch_sub(1, std::memory_order_acq_rel);
        lock.lock();
    }
}

void CommitPool::complete(Completion completion) {
    outstanding_.fetch_add(1, std::memory_order_acq_rel);
    bool wake;
    {
        const std::lock_guard lock(done_mutex_);
        done_.push_back(std::move(completion));
        wake = !std::exchange(woken_, true);
    }
    if (wake && wake_) wake_();
}

void CommitPool::drain() {
    std::vector<Completion> ready;
    {
        const std::lock_guard lock(done_mutex_);
        ready.swap(done_);
        woken_ = false;
    }
    for (auto& completion : ready) {
        completion();
        completion = nullptr;
        outstanding_.fetch_sub(1, std::memory_order_acq_rel);
    }
}

Result<DurableReceipt> CommitPool::make_overwrite_durable(const File& file, const Commit& commit) {
    auto synced = disk_.sync_data(file);
    file_syncs_.fetch_add(1, std::memory_order_relaxed);
    if (!synced) return std::unexpected(std::move(synced).error());
    return DurableReceipt(commit.id, commit.size, commit.reused_file); // the moment of the promise
}

void CommitPool::make_durable(const File& file, SharedDirectory& directory, const Commit& commit,
                              std::move_only_function<void(Result<DurableReceipt>)> done) {
    auto synced = disk_.sync(file);
    file_syncs_.fetch_add(1, std::memory_order_relaxed);
    if (!synced) return done(std::unexpected(std::move(synced).error()));
    // The moment of the promise, if syncing a file also keeps its name …
    if (disk_.file_sync_keeps_name()) return done(DurableReceipt(commit.id, commit.size, commit.reused_file));
    {
        const std::lock_guard lock(directory.mutex_);
        directory.waiting_.push_back([commit, done = std::move(done)](Result<> named) mutable {
            if (!named) return done(std::unexpected(std::move(named).error()));
            done(DurableReceipt(commit.id, commit.size, commit.reused_file)); // … and if it does not.
        });
        if (std::exchange(directory.running_, true)) return;
    }
    sync_directory(directory);
}

// One thread at a time; a thread that comes meanwhile has left its name in `waiting_` and is served by the next round.
void CommitPool::sync_directory(SharedDirectory& directory) {
    for (;;) {
        std::vector<SharedDirectory::Waiter> served;
        Result<> result;
        {
            const std::lock_guard lock(directory.mutex_);
            if (directory.waiting_.empty()) {
                directory.running_ = false;
                return;
            }
            served.swap(directory.waiting_);
            result = directory.broken_;
        }
        if (result) {
            result = disk_.sync(directory.file_);
            directory.syncs_.fetch_add(1, std::memory_order_relaxed);
        }
        if (!result) {
            const std::lock_guard lock(directory.mutex_);
            directory.broken_ = result;
        }
        for (auto& waiter : served) waiter(result);
    }
}

} // namespace spool
