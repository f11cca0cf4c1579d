// The sessions of one worker: admits clients, after the header of a load balancer where one is expected, within the
// limits per network and in total; evicts sessions when there is no room for a new one or memory is short; stops them
// in order. Knows no listeners; Connection talks to the client.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/smtpd/access/proxy_connection.h"
#include "daemons/smtpd/session/connection.h"
#include "daemons/smtpd/session/worker_context.h"
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace smtpd {

class Sessions {
public:
    // `worker` outlives it. `on_gone` is called when a session has gone.
    Sessions(WorkerContext& worker, std::function<void()> on_gone);
    Sessions(const Sessions&) = delete;

    // A client, or a balancer, of a listener has connected.
    void accepted(const std::shared_ptr<const Rules>& rules, common::Fd socket, const common::Endpoint& from);
    // How many sessions the listeners allow at a time; none: there are no listeners, and sessions are never
    // short.
    void set_limit(std::optional<std::size_t> limit) { limit_ = limit; }
    // Admits no further clients.
    void stop_admitting();
    void shut_down(smtp::ServerSession::When when);
    // This node is drained: clients get 421, those that are here when their transactions have ended.
    void admit_none(bool drained);
    // Memory is scarce.
    void free_memory();
    std::size_t count() const { return connections_.size(); }

private:
    void await_proxy_header(const std::shared_ptr<const Rules>& rules, common::Fd socket,
                            const common::Endpoint& balancer);
    void admit(const std::shared_ptr<const Rules>& rules, common::Fd socket, Client client);
    bool make_room_for(const Rules& rules, const Client& newcomer);
    // `limit`: the key of the one that is exceeded, "" none is; `exceeded`: the same for the log, where it is the
    // client's.
    void reject_connection(const Rules& rules, common::Fd socket, const Client& client, const smtp::Reply& reply,
                           std::string_view limit = {}, std::string_view exceeded = {});
    void gone(Connection& connection);
    void update_stress();

    WorkerContext& worker_;
    std::function<void()> on_gone_;
    const std::size_t max_sessions_;                                // allowed by file descriptors
    std::optional<std::size_t> limit_;                              // by the listeners
    bool drained_ = false;                                          // no client is admitted
    std::list<std::unique_ptr<ProxyConnection>> proxy_connections_; // their clients are not known yet
    std::list<std::unique_ptr<Connection>> connections_;
    std::vector<std::unique_ptr<Connection>> closed_connections_; // gone; destroyed when the turn ends
    common::TurnHook cleanup_hook_;
    smtp::Monotonic last_rejection_log_, last_eviction_log_; // of a rejected client; of evictions
};

} // namespace smtpd
