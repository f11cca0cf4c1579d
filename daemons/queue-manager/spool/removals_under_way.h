// The messages that operators have removed and that are not in removed/ yet, because the journal is written first or
// the disk is slow: who wants one back waits for it. Pure; knows their order, not files.
#pragma once
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

namespace queue_manager {

class RemovalsUnderWay {
public:
    void begin(spool::QueueId id) {
        const auto number = ++last_;
        numbers_.insert_or_assign(id, number);
        open_.insert(number);
    }
    // It is there, or will never be. Ignored if it never began.
    void end(spool::QueueId id) {
        const auto known = numbers_.extract(id);
        if (known.empty()) return;
        open_.erase(known.mapped());
        while (!waiting_.empty() && (open_.empty() || *open_.begin() > waiting_.front().last)) {
            auto task = std::move(waiting_.front().task);
            waiting_.pop_front();
            task();
        }
    }
    // Calls `task` when all that have begun have ended; at once if none is under way.
    void when_through(std::move_only_function<void()> task) {
        if (open_.empty()) return task();
        waiting_.push_back({last_, std::move(task)});
    }

private:
    struct Waiting {
        std::uint64_t last; // of those it waits for
        std::move_only_function<void()> task;
    };
    std::uint64_t last_ = 0;
    std::unordered_map<spool::QueueId, std::uint64_t> numbers_;
    std::set<std::uint64_t> open_;
    std::deque<Waiting> waiting_;
};

} // namespace queue_manager
