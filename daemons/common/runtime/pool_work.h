// Work for the thread pool of the loop, one piece at a time for each owner: for what blocks, such as files.
#pragma once
#include "daemons/common/runtime/loop.h"
#include <functional>

namespace common {

class PoolWork {
public:
    explicit PoolWork(Loop& loop) : loop_(loop) {}
    // What is under way ends by itself; its `done` is not called.
    ~PoolWork();
    PoolWork(const PoolWork&) = delete;
    PoolWork& operator=(const PoolWork&) = delete;

    bool busy() const { return job_ != nullptr; }
    // `work` runs on another thread: it owns what it uses. `done` is called on the loop's thread, unless this is
    // destroyed before. Must not be busy.
    void start(std::function<void()> work, std::function<void()> done);

private:
    struct Job;
    Loop& loop_;
    Job* job_ = nullptr;
};

} // namespace common
