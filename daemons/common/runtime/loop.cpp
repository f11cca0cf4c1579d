#include "daemons/common/runtime/loop.h"
#include <algorithm>
#include <cassert>
#include <csignal>
#include <cstdlib>
#include <sched.h>
#include <string>
#include <utility>

namespace common {

void size_thread_pool(unsigned threads) {
    setenv("UV_THREADPOOL_SIZE", std::to_string(std::max(1u, threads)).c_str(), 1);
}

Loop::Loop(unsigned pool_threads) {
    std::signal(SIGPIPE, SIG_IGN); // libuv does not: a peer that hangs up would kill us
    size_thread_pool(pool_threads);
    [[maybe_unused]] int failed = uv_loop_init(&loop_);
    assert(failed == 0);
    uv_prepare_init(&loop_, &prepare_);
    prepare_.data = this;
    uv_prepare_start(&prepare_, [](uv_prepare_t* p) {
        static_cast<Loop*>(p->data)->end_turn();
        // Let other runnable processes go first: what they have for us then arrives in this turn rather than in a
        // wake-up of its own, and a wake-up costs more than most of what it brings.
        sched_yield();
    });
    uv_unref(reinterpret_cast<uv_handle_t*>(&prepare_));
}

Loop::~Loop() {
    deferred_.clear();
    uv_close(reinterpret_cast<uv_handle_t*>(&prepare_), nullptr);
    uv_run(&loop_, UV_RUN_NOWAIT);  // consumes a stop() that came when nothing ran
    uv_run(&loop_, UV_RUN_DEFAULT); // close callbacks free what the owners have released
    [[maybe_unused]] int busy = uv_loop_close(&loop_);
    assert(busy == 0);
}

void Loop::run() {
    uv_run(&loop_, UV_RUN_DEFAULT);
    end_turn();
}

smtp::Now Loop::now() {
    return {std::chrono::time_point_cast<smtp::Duration>(std::chrono::steady_clock::now()),
            std::chrono::time_point_cast<smtp::Duration>(std::chrono::system_clock::now())};
}

void Loop::defer(std::function<void()> what) { deferred_.push_back(std::move(what)); }

// Each may schedule more: the turn ends when nothing is left.
void Loop::end_turn() {
    while (!deferred_.empty() || !hooks_.empty()) {
        for (auto& what : std::exchange(deferred_, {})) what();
        for (std::size_t i = 0; i < hooks_.size(); ++i) {
            TurnHook* hook = std::exchange(hooks_[i], nullptr);
            if (!hook) continue;
            hook->scheduled_ = false;
            hook->run_(); // may destroy the hook
        }
        hooks_.clear();
    }
}

TurnHook::~TurnHook() {
    if (scheduled_) std::replace(loop_.hooks_.begin(), loop_.hooks_.end(), this, static_cast<TurnHook*>(nullptr));
}

} // namespace common
