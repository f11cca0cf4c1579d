// What the queue-manager does when an address is erased from the journal: it ends the open segment, and removes what is
// kept of failed mail. Knows the journal and the directory failed/; must not know which events are erased.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/queue-manager/journal/journal.h"
#include "daemons/queue-manager/requests/replies.h"
#include "libspool/disk/commit_pool.h"
#include <nlohmann/json_fwd.hpp>

namespace queue_manager {

class ErasureRequests {
public:
    static constexpr std::size_t most_ids = 1000; // in one request
    // All outlive it.
    ErasureRequests(common::Log& log, spool::CommitPool& pool, Journal& journal, Replies replies)
        : log_(log), pool_(pool), journal_(journal), replies_(replies) {}
    ErasureRequests(const ErasureRequests&) = delete;

    void end_segment(const Request& request);
    void forget(const Request& request, const nlohmann::json& body);

private:
    common::Log& log_;
    spool::CommitPool& pool_;
    Journal& journal_;
    Replies replies_;
};

} // namespace queue_manager
