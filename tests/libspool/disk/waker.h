// Wakes a waiting test as uv_async would a loop: what a CommitPool with threads is given to call.
#pragma once
#include <condition_variable>
#include <mutex>

namespace spool::test {

class Waker {
public:
    void wake() {
        const std::lock_guard lock(mutex_);
        woken_ = true;
        changed_.notify_one();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return woken_; });
        woken_ = false;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool woken_ = false;
};

} // namespace spool::test
