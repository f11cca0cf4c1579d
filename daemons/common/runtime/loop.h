// The event loop as an object: owned by main(), passed down by reference. Knows the clocks and the end of a
// turn: everything collected during a turn (log lines, messages to other daemons) is written at once at its end.
#pragma once
#include "libsmtp/text/time_types.h"
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <uv.h>
#include <vector>

namespace common {

class TurnHook;

// Size of libuv's thread pool (file work, name lookups, deliveries), which exists once per process; good until the
// first work is given to it. At most 1024.
void size_thread_pool(unsigned threads);

class Loop {
public:
    // `pool_threads`: as for size_thread_pool().
    explicit Loop(unsigned pool_threads = 4);
    ~Loop(); // everything on it must have been destroyed before
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    uv_loop_t& uv() { return loop_; }

    // Until stop() is called or nothing is left to wait for.
    void run();
    void stop() { uv_stop(&loop_); }

    // Both clocks, read again.
    static smtp::Now now();

    // Runs once at the end of this turn, before the loop waits again. For what must not happen under its
    // caller's feet, such as destroying the object whose callback is running.
    void defer(std::function<void()> what);

    // For reading from sockets: one buffer for all, good until the read callback returns.
    std::span<char> read_buffer() { return read_buffer_; }

private:
    friend class TurnHook;
    void end_turn();

    uv_loop_t loop_;
    uv_prepare_t prepare_;
    std::vector<TurnHook*> hooks_;
    std::vector<std::function<void()>> deferred_;
    std::array<char, 65536> read_buffer_;
};

// Something to do at the end of the turn if it was scheduled during it. Destroying it unschedules it.
class TurnHook {
public:
    TurnHook(Loop& loop, std::function<void()> run) : loop_(loop), run_(std::move(run)) {}
    ~TurnHook();
    TurnHook(const TurnHook&) = delete;
    TurnHook& operator=(const TurnHook&) = delete;

    void schedule() {
        if (scheduled_) return;
        scheduled_ = true;
        loop_.hooks_.push_back(this);
    }

private:
    friend class Loop;
    Loop& loop_;
    std::function<void()> run_;
    bool scheduled_ = false;
};

} // namespace common
