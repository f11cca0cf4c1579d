// The journal's events for clients that follow them: the newest as they come to stable storage, read once for all, and
// earlier ones for each client that is behind, some at a time. Knows no HTTP.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/pool_work.h"
#include "daemons/common/runtime/timer.h"
#include "libspool/disk/real_disk.h"
#include "libspool/journal/segments/journal_cursor.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace http {

struct FeedEvent {
    std::uint64_t number;
    std::string type, line; // a JSON object, without a line's end
};

class EventFeed {
public:
    static constexpr smtp::Duration interval = std::chrono::milliseconds(250);

    struct Follower {
        std::function<void(const std::vector<FeedEvent>&)> take;
        std::function<bool()> has_room; // asked before earlier events are read
        std::function<void()> idle;     // at each interval without events
    };

    EventFeed(common::Loop& loop, std::string path);
    EventFeed(const EventFeed&) = delete;
    EventFeed& operator=(const EventFeed&) = delete;

    // From the event after number `after` on; nothing: from now on. Until unfollow(), which a follower may call while
    // it takes events.
    std::uint64_t follow(std::optional<std::uint64_t> after, Follower follower);
    void unfollow(std::uint64_t number);
    std::size_t followers() const { return followers_.size(); }

private:
    struct Reading { // of a thread; one at a time
        std::shared_ptr<spool::RealDisk> disk;
        std::shared_ptr<spool::JournalCursor> cursor;
        std::uint64_t published = 0;
        std::vector<FeedEvent> events;
        bool failed = false;
    };
    struct State {
        Follower follower;
        std::optional<std::uint64_t> next;            // nothing: it begins with the next event there is
        std::shared_ptr<spool::JournalCursor> cursor; // while it is behind
    };
    void look();
    void took(Reading& reading);
    void catch_up();
    void deliver(std::uint64_t number, const std::vector<FeedEvent>& events);

    common::Loop& loop_;
    const std::string path_;
    std::shared_ptr<spool::RealDisk> disk_;
    std::shared_ptr<spool::JournalCursor> tail_; // null: to begin at what is published
    std::uint64_t tail_next_ = 0;                // what is read for all next; 0: not known
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, State> followers_;
    common::PoolWork look_, earlier_;
    common::Timer timer_;
};

} // namespace http
