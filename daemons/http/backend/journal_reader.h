// Questions to the journal on threads: searches, and the events of one message. Some at once, others wait; what takes
// long is interrupted for them, so that no number of slow questions delays a quick one. The journal is opened for each.
// Knows no HTTP.
#pragma once
#include "daemons/common/history/history_search.h"
#include "daemons/common/history/message_history.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/pool_work.h"
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace http {

class JournalReader {
public:
    static constexpr std::size_t most_at_once = 2, most_waiting = 50;
    static constexpr std::uint64_t most_events = 100'000; // of one answer

    struct FoundMessage {
        history::MessageHistory history;
        std::vector<nlohmann::json> events; // in their order
    };
    struct Answer {
        std::string wrong;                  // with the question; "": nothing
        std::string failed;                 // reading it; "": nothing
        std::vector<FoundMessage> messages; // newest first
        std::vector<nlohmann::json> events; // that belong to no message
        std::uint64_t next = 0;             // there are more than the limit: from this event on; 0: none
        std::uint64_t newest = 0;           // with that: of the first part
        std::uint64_t damaged = 0;          // places that could not be read
        // Of each count {"by","groups":[{"name","events","delivered",…}],"groups_total"}.
        std::vector<nlohmann::json> summaries;
        bool complete = true;     // it was done within the time
        std::string counted_from; // if it was not: time of the oldest event that was counted
    };
    using Done = std::function<void(Answer)>;
    // The client has gone: the search ends early, or does not begin. From any thread.
    using Cancelled = std::shared_ptr<std::atomic<bool>>;

    // `slice`: the time for which a question is worked on while others wait.
    static constexpr smtp::Duration usual_slice = std::chrono::milliseconds(100);
    JournalReader(common::Loop& loop, std::string path, smtp::Duration slice = usual_slice)
        : loop_(loop), path_(std::move(path)), slice_(slice) {}
    JournalReader(const JournalReader&) = delete;
    JournalReader& operator=(const JournalReader&) = delete;

    // The newest `limit` messages that have an event which matches all words (history_query.h); on from event `from`:
    // without those that have a newer one, which an earlier answer had. `done` is called once, later, unless this is
    // destroyed before.
    struct Part {
        std::uint64_t limit = 0, from = history::HistorySearch::newest;
        std::uint64_t newest = 0; // of the first part: what has come since then is not in it; 0: this is the first
    };
    void search(std::vector<std::string> words, const Part& part, Cancelled cancelled, Done done);
    // Counts events by one of HistorySummary::groupings.
    struct Count {
        std::string by;
        std::vector<std::string> types = {}; // only of events of these types; none: of all
    };
    // All events that match, newest first, with each of the counts; the `limit` largest groups of each. `within`:
    // after that, older events are left out; zero: all are counted.
    void summarize(std::vector<std::string> words, std::vector<Count> counts, std::uint64_t limit,
                   smtp::Duration within, Cancelled cancelled, Done done);
    // At most one message.
    void message(std::string id, Done done);
    std::size_t open() const { return waiting() + running_; }

private:
    using Pause = std::function<bool()>; // asked from time to time; true: the work should be interrupted
    struct Job {
        std::function<bool(const Pause&, Answer&)> work; // false: interrupted; it continues with the next call
        Cancelled cancelled;
        Done done;
        std::shared_ptr<Answer> answer = std::make_shared<Answer>();
    };
    void add(Job job);
    void start();
    Job take();
    void worked(Job job, bool complete);
    std::size_t waiting() const { return fresh_.size() + interrupted_.size(); }

    common::Loop& loop_;
    const std::string path_;
    const smtp::Duration slice_;
    std::deque<Job> fresh_, interrupted_; // one of each in turn
    bool fresh_is_next_ = true;
    const Cancelled others_wait_ = std::make_shared<std::atomic<bool>>(false); // for the threads
    std::list<common::PoolWork> workers_;
    std::size_t running_ = 0;
};

} // namespace http
