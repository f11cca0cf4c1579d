// The content of queued messages, and of those that are kept because they failed, for clients that cannot read the
// spool. In pieces, each for a request of its own, so that no client that reads slowly keeps a file open; before the
// first one all of it is compared with its checksum. One disk access at a time: mail has precedence. Knows files; must
// not know who may read them.
#pragma once
#include "daemons/queue-manager/requests/replies.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>

namespace queue_manager {

class ContentRequests {
public:
    static constexpr std::size_t largest_piece = 256 * 1024;
    static constexpr std::size_t most_waiting = 200; // requests

    // Both outlive it.
    ContentRequests(spool::CommitPool& pool, Replies replies) : pool_(pool), replies_(replies) {}
    ContentRequests(const ContentRequests&) = delete;

    void read(const Request& request, const nlohmann::json& body);

private:
    struct Job {
        Request request;
        spool::QueueId id;
        std::uint64_t offset = 0;
    };
    void begin();

    spool::CommitPool& pool_;
    Replies replies_;
    std::deque<Job> waiting_; // the first one is being read
};

} // namespace queue_manager
