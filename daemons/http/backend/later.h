// Calls that are made after a while, each once; none after this is destroyed.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include <deque>
#include <functional>

namespace http {

// All of the same length: the first one that was asked for is the first one due.
class Later {
public:
    explicit Later(common::Loop& loop) : timer_(loop, [this] { call(); }) {}
    Later(const Later&) = delete;
    Later& operator=(const Later&) = delete;

    void after(smtp::Duration wait, std::function<void()> what) {
        due_.push_back({common::Loop::now().monotonic + wait, std::move(what)});
        if (!timer_.armed()) timer_.start(wait);
    }

private:
    struct Due {
        smtp::Monotonic at;
        std::function<void()> what;
    };
    void call() {
        const auto now = common::Loop::now().monotonic;
        while (!due_.empty() && due_.front().at <= now) {
            const auto what = std::move(due_.front().what);
            due_.pop_front();
            what();
        }
        if (!due_.empty() && !timer_.armed()) timer_.start(due_.front().at - now);
    }
    std::deque<Due> due_;
    common::Timer timer_;
};

} // namespace http
