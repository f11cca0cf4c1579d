// Reads waiting messages again, slowly, so that a failing disk is noticed while a backup may still help, not when the
// mail is to be delivered. Knows how to check; the callback decides what happens to the message.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/queue/engine.h"
#include "libspool/disk/commit_pool.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace queue_manager {

class Scrub {
public:
    struct Callbacks {
        // The next message of the queue for a cursor that starts at 0 and ends at 0.
        std::function<std::optional<decide::queue::MessageInfo>(std::uint32_t& cursor)> next;
        std::function<std::size_t()> messages;
        // Read twice, and damaged both times.
        std::function<void(spool::QueueId, const std::string& why)> damaged;
    };
    Scrub(common::Loop& loop, spool::CommitPool& pool, Callbacks callbacks);
    Scrub(const Scrub&) = delete;

    // Every message once in this time, from now on; 0: never.
    void every(smtp::Duration interval);

private:
    void look();
    void rest();

    spool::CommitPool& pool_;
    Callbacks callbacks_;
    common::Timer timer_;
    smtp::Duration interval_{0};
    std::uint32_t cursor_ = 0;
    bool reading_ = false;
};

} // namespace queue_manager
