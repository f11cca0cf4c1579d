// Serves run/showq: whoever connects gets the whole queue in Postfix's form (proto/showq.h). Streams: a handful
// of messages at a time are read on the pool's threads, and no more while the client does not read.
#pragma once
#include "daemons/common/fd.h"
#include "daemons/common/log.h"
#include "daemons/common/loop.h"
#include "daemons/common/proto/showq.h"
#include "daemons/common/timer.h"
#include "daemons/common/uv_handle.h"
#include "daemons/decide/queue/engine.h"
#include "libspool/commit_pool.h"
#include "libspool/message_state.h"
#include <functional>
#include <list>
#include <memory>
#include <string>

namespace queue_manager {

// One message as the listing shows it: what the engine knows and what the file says. Pure.
proto::showq::Entry entry_of(const decide::queue::MessageInfo& info, const spool::MessageState& state);

class Listing {
public:
    // The next message of the queue for a cursor that starts at 0 and ends at 0.
    using Next = std::function<std::optional<decide::queue::MessageInfo>(std::uint32_t& cursor)>;

    // `fd`: listening; empty: nothing is served.
    Listing(common::Loop& loop, common::Log& log, spool::CommitPool& pool, common::Fd fd, Next next);
    ~Listing();
    Listing(const Listing&) = delete;

    // The spool has been read: until then a listing would call a queue empty that is not, so who asks waits.
    void serve();

    static constexpr std::size_t max_clients = 50, batch = 64;

private:
    class Client;
    void listen();
    void accept();

    common::Loop& loop_;
    common::Log& log_;
    spool::CommitPool& pool_;
    Next next_;
    common::Fd fd_;
    common::Handle<uv_poll_t> poll_;
    bool serving_ = false;
    common::Timer pause_; // after running out of descriptors
    std::list<std::shared_ptr<Client>> clients_;
};

} // namespace queue_manager
