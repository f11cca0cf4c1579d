// One listening socket: accepts connections from it in batches. When descriptors run out, a spare one serves to
// reject the client (421) instead of leaving it waiting, and accepting pauses instead of spinning. Knows no SMTP but
// that line.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include "libsmtp/protocol/reply.h"
#include <functional>
#include <memory>
#include <string>

namespace smtpd {

class Acceptor {
public:
    using Accepted = std::function<void(common::Fd socket, const common::Endpoint& from)>;
    using OnShortage = std::function<void(int error)>; // at most once a second

    // `fd`: bound, listening, non-blocking.
    static std::unique_ptr<Acceptor> create(common::Loop& loop, common::Fd fd, Accepted accepted,
                                            OnShortage on_shortage);
    Acceptor(const Acceptor&) = delete;

    // The reply to a client for which there is no descriptor.
    void set_busy(const smtp::Reply& busy) {
        busy_.clear();
        busy.append_to(busy_);
    }

private:
    Acceptor(common::Loop& loop, common::Fd fd, Accepted accepted, OnShortage on_shortage);
    void listen();
    void accept();
    void shed_connection(int error);

    common::Fd fd_, spare_descriptor_;
    Accepted accepted_;
    OnShortage on_shortage_;
    std::string busy_;
    common::Handle<uv_poll_t> poll_;
    common::Timer pause_;
    smtp::Monotonic last_shortage_report_;
};

} // namespace smtpd
