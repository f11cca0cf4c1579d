// Serves run/showq: each client that connects gets the whole queue in Postfix's form (proto/showq.h). Streams: a
// handful of messages at a time are read on the pool's threads, and no more while the client does not read, or while
// others have much left to read. A client that reads nothing for a while is disconnected.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/showq.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include "daemons/decide/queue/engine.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/message/message_state.h"
#include <deque>
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

    struct Limits {
        smtp::Duration patience = std::chrono::minutes(1); // in which nothing is read
        std::size_t text = 256 * 1024;                     // gathered for one client; a message is never divided
        std::size_t unread = 16 << 20;                     // by all clients: beyond, nothing more is gathered
        std::size_t gathering = 2;                         // clients for whom files are read at the same time
        std::size_t per_user = 10;                         // clients of one user other than root
    };
    // `fd`: listening; empty: nothing is served.
    Listing(common::Loop& loop, common::Log& log, spool::CommitPool& pool, common::Fd fd, Next next,
            const Limits& limits);
    Listing(common::Loop& loop, common::Log& log, spool::CommitPool& pool, common::Fd fd, Next next)
        : Listing(loop, log, pool, std::move(fd), std::move(next), Limits()) {}
    ~Listing();
    Listing(const Listing&) = delete;

    // The spool has been read: until then a listing would show an empty queue that is not empty, so clients wait.
    void serve();

    static constexpr std::size_t max_clients = 50, batch = 64, batch_recipients = 4096;

private:
    class Client;
    void listen();
    void accept();
    void go_on(); // with the clients whose turn it is

    common::Loop& loop_;
    common::Log& log_;
    spool::CommitPool& pool_;
    Next next_;
    common::Fd fd_;
    common::Handle<uv_poll_t> poll_;
    const Limits limits_;
    bool serving_ = false;
    common::Timer pause_; // after running out of descriptors
    common::TurnHook turn_;
    std::size_t unread_ = 0, gathering_ = 0;
    std::list<std::shared_ptr<Client>> clients_;
    std::deque<std::weak_ptr<Client>> waiting_; // to gather more
};

} // namespace queue_manager
