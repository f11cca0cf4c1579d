// The lookups of one table that wait for one of its connections, and those under way: which comes next, which have
// taken too long, and whether more could wait. Knows no thread and no connection. Pure.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace maps {

class LookupQueue {
public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::size_t most_waiting = 500;

    struct Lookup {
        std::uint64_t number = 0;
        std::string key;
        Time begin, deadline;
        bool under_way = false;
    };

    // Numbers begin after `last`.
    explicit LookupQueue(std::size_t workers, std::uint64_t last = 0) : workers_(workers), last_(last) {}

    // Nothing: too many are waiting.
    std::optional<std::uint64_t> add(std::string key, Time begin, Time deadline);
    // For a worker that is free.
    std::optional<Lookup> next();
    // A worker is free again, whatever became of its lookup; that, if its time limit has not passed before.
    std::optional<Lookup> finished(std::uint64_t number);
    // Those that have waited or taken too long; each is returned once. A worker may still be busy with it.
    std::vector<Lookup> expire(Time now);
    // A lookup under way whose caller is gone is finished; one that waits is not begun.
    void forget(std::uint64_t number);

    std::optional<Time> next_deadline() const;
    bool wants_worker() const { return !waiting_.empty() && busy_ < workers_; }
    std::uint64_t last() const { return last_; }
    std::size_t busy() const { return busy_; }
    // Every worker is busy with a lookup whose time is over: nothing can be looked up.
    bool stuck() const { return busy_ == workers_ && overdue_.size() >= workers_; }

private:
    std::size_t workers_, busy_ = 0;
    std::uint64_t last_;
    std::deque<std::uint64_t> waiting_;
    std::map<std::uint64_t, Lookup> lookups_; // waiting, or under way within their time
    std::map<std::uint64_t, Time> overdue_;   // under way, and reported as expired
};

} // namespace maps
