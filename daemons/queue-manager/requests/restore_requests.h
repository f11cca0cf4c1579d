// How what an operator removed is brought back: named messages, or all that are still there. One after the
// other, some at a time: each is durable before it is counted. Knows the directory removed/; must not know
// the engine.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/queue-manager/engine_driver/message_intake.h"
#include "daemons/queue-manager/requests/replies.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "libspool/disk/commit_pool.h"
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <utility>

namespace queue_manager {

class RestoreRequests {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        spool::CommitPool& pool;
        MessageFiles& files;
        MessageIntake& intake;
        MessageEvents& events;
        std::function<bool()> loading; // the spool is still being read
    };
    RestoreRequests(Dependencies dependencies, Replies replies) : deps_(std::move(dependencies)), replies_(replies) {}
    RestoreRequests(const RestoreRequests&) = delete;

    void restore(const Request& request, const nlohmann::json& body);

private:
    struct Restoration;
    void list_removed(const std::shared_ptr<Restoration>& work);
    void restore_some(const std::shared_ptr<Restoration>& work);
    void restored(const std::shared_ptr<Restoration>& work, spool::QueueId id, const spool::Result<>& back);
    void through(const std::shared_ptr<Restoration>& work); // with one of them

    Dependencies deps_;
    Replies replies_;
};

} // namespace queue_manager
