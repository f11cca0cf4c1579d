// A connection a balancer has opened, until it has said for whom (PROXY protocol): reads the header, and no
// byte of what follows it, within a time. Knows no SMTP; whether the balancer is believed was decided before.
#pragma once
#include "daemons/common/net/proxy_header.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include <expected>
#include <functional>
#include <memory>
#include <string>

namespace smtpd {

class ProxyConnection {
public:
    // What the header says, or why there is none. Once, from the loop; may destroy the ProxyConnection.
    using Done = std::function<void(std::expected<common::ProxyHeader, smtp::Malformed>)>;

    // Null if the socket cannot be watched. `deadlines` must outlive it.
    static std::unique_ptr<ProxyConnection> create(common::Loop& loop, common::Deadlines& deadlines, common::Fd socket,
                                                   const common::Endpoint& balancer, smtp::Duration patience,
                                                   Done done);
    ProxyConnection(const ProxyConnection&) = delete;

    const common::Endpoint& balancer() const { return balancer_; }
    // The socket, whose next byte is the client's first.
    common::Fd take_socket();

private:
    ProxyConnection(common::Loop& loop, common::Deadlines& deadlines, common::Fd socket,
                    const common::Endpoint& balancer, Done done);
    void readable();
    void finish(std::expected<common::ProxyHeader, smtp::Malformed> result);

    common::Fd socket_;
    common::Endpoint balancer_;
    Done done_;
    std::string header_; // what has come of it
    common::Deadline deadline_;
    common::Handle<uv_poll_t> poll_;
};

} // namespace smtpd
