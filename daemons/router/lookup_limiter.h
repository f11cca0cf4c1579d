// Limits how many look-ups are under way at a time. A look-up that has not ended after a moment gives up its place and
// goes on without one, so that name servers that do not answer hold up no look-up that would be answered at once. Knows
// nothing of what is looked up.
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

class Places {
public:
    using Number = std::uint64_t; // of one that is taken; 0: none

    struct Limits {
        std::size_t at_a_time = 0;
        std::size_t most_slow = 0; // of those without a place; more of them keep theirs
        smtp::Duration slow_after = std::chrono::milliseconds(500);
    };
    // `room` is called when slow look-ups have given up their places; leave() does not call it.
    Places(common::Loop& loop, Limits limits, std::function<void()> room)
        : limits_(limits), room_(std::move(room)), timer_(loop, [this] { look(); }) {}
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;

    bool is_free() const { return taken_.size() - slow_ < limits_.at_a_time; }
    Number take();
    void leave(Number number);
    void leave_all();

private:
    void look();

    Limits limits_;
    std::function<void()> room_;
    common::Timer timer_;
    Number last_ = 0;
    std::size_t slow_ = 0;
    std::map<Number, bool> taken_;                             // is it slow?
    std::deque<std::pair<Number, smtp::Monotonic>> candidates_; // that may become slow, in their order
};

} // namespace router
