// The conversation with the fleet process about idempotency keys (proto/key_records.h): what became of attempts, and
// all keys of accepted messages. Knows the channel and the keeper of the keys; must not know the engine, nor the store
// that nodes share.
#pragma once
#include "daemons/common/proto/key_records.h"
#include "daemons/queue-manager/peers/service.h"
#include "daemons/queue-manager/spool/idempotency_keys.h"
#include "libspool/disk/commit_pool.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace queue_manager {

class KeyRecords {
public:
    using Channel = ipc::Channel<proto::key_records::Message>;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        spool::CommitPool& pool;
        IdempotencyKeys& keys;
        std::string spool; // its directory
    };
    explicit KeyRecords(Dependencies dependencies);
    KeyRecords(const KeyRecords&) = delete;
    KeyRecords& operator=(const KeyRecords&) = delete;

    void attach(std::unique_ptr<Channel> channel);

private:
    void received(proto::key_records::Message&& message);
    // Calls `read` on a thread, and sends what it returns: not to another process than the one that asked.
    template <class Answer> void answer(std::function<Answer(store::Store*, smtp::WallTime now)> read);

    Dependencies deps_;
    Service<proto::key_records::Message> service_;
    std::uint64_t connection_ = 0;
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

} // namespace queue_manager
