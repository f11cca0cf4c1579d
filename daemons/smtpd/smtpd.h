// The SMTP server, one worker of several: accepts clients on the listeners master hands down, keeps their
// number within bounds, and stops in order. What is said to a client is Connection's.
#pragma once
#include "daemons/common/process/daemon.h"
#include "daemons/common/logging/problems.h"
#include "daemons/smtpd/access/acceptor.h"
#include "daemons/smtpd/session/connection.h"
#include "daemons/smtpd/access/proxy_connection.h"
#include <list>
#include <map>
#include <memory>
#include <vector>

namespace smtpd {

class Smtpd final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Smtpd>> create(common::DaemonContext& context,
                                                        common::DaemonConfig daemon_config);
    ~Smtpd() override;

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    void update_gauges(common::Metrics& metrics) override;

private:
    struct ListeningSocket { // one listening socket
        std::shared_ptr<const Rules> rules;
        std::unique_ptr<Acceptor> acceptor;
    };

    Smtpd(common::DaemonContext& context, const config::Config& config,
          std::unique_ptr<common::Problems> problems, std::unique_ptr<common::SpoolWriter> spool_writer);
    std::shared_ptr<const auth::PasswordFile> read_passwords(const common::DaemonConfig& daemon_config);
    // Who is let in (admission.cpp)
    void accepted(const std::shared_ptr<const Rules>& rules, common::Fd socket, const common::Endpoint& from);
    void await_proxy_header(const std::shared_ptr<const Rules>& rules, common::Fd socket,
                      const common::Endpoint& balancer);
    void admit(const std::shared_ptr<const Rules>& rules, common::Fd socket, Client client);
    bool make_room_for(const Rules& rules, const Client& newcomer);
    // `limit`: for the log, where it is one that the client exceeds.
    void reject_connection(common::Fd socket, const Client& client, const smtp::Reply& reply, std::string_view limit = {});

    void gone(Connection& connection);
    void update_stress();
    void free_memory();
    void shut_down(smtp::ServerSession::When when);
    void stopped_if_done();

    common::DaemonContext& context_;
    common::Log& log_;
    std::unique_ptr<common::Problems> problems_;
    common::LoopDeadlines deadlines_;
    std::unique_ptr<common::SpoolWriter> spool_writer_;
    common::idempotency::Client keys_;
    RecipientChecker checker_;
    common::SubmissionQueue submission_queue_;
    WorkerContext worker_;
    std::map<std::string, ListeningSocket> listening_sockets_; // by name and address
    std::size_t max_sessions_ = 0;             // what descriptors allow
    std::list<std::unique_ptr<ProxyConnection>> proxy_connections_; // their clients are not known yet
    std::list<std::unique_ptr<Connection>> connections_;
    std::vector<std::unique_ptr<Connection>> closed_connections_; // gone; destroyed when the turn ends
    common::TurnHook cleanup_hook_;
    common::Timer stop_timeout_; // while stopping
    std::function<void()> stopped_;
    smtp::Monotonic last_rejection_log_, last_eviction_log_; // of a client turned away; of those who gave way to others
};

} // namespace smtpd
