// Limits how many lookups are under way at a time. A lookup that has not ended after a moment gives up its place and
// continues without one, so that name servers that do not answer hold up no lookup that would be answered at once.
// Knows nothing about what is looked up.
#pragma once
#include "daemons/common/runtime/timer.h"
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

namespace router {

class LookupLimiter {
public:
    using Ticket = std::uint64_t; // of one that is taken; 0: none

    struct Limits {
        std::size_t max_active = 0;
        std::size_t max_slow = 0; // of those without a place; more of them keep theirs
        smtp::Duration slow_after = std::chrono::milliseconds(500);
    };
    // `on_free` is called when slow lookups have given up their places; release() does not call it.
    LookupLimiter(common::Loop& loop, Limits limits, std::function<void()> on_free)
        : limits_(limits), on_free_(std::move(on_free)), timer_(loop, [this] { find_slow(); }) {}
    LookupLimiter(const LookupLimiter&) = delete;
    LookupLimiter& operator=(const LookupLimiter&) = delete;

    bool is_free() const { return active_.size() - slow_ < limits_.max_active; }
    Ticket acquire();
    void release(Ticket ticket);
    void release_all();

private:
    void find_slow();

    Limits limits_;
    std::function<void()> on_free_;
    common::Timer timer_;
    Ticket last_ = 0;
    std::size_t slow_ = 0;
    std::map<Ticket, bool> active_;                             // is it slow?
    std::deque<std::pair<Ticket, smtp::Monotonic>> candidates_; // that may become slow, in their order
};

} // namespace router
