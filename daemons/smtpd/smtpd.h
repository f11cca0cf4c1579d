// The SMTP server, one worker of several: listens on the sockets that master passes down, and applies the
// configuration. Sessions deals with the clients.
#pragma once
#include "daemons/common/logging/problems.h"
#include "daemons/common/process/daemon.h"
#include "daemons/smtpd/access/acceptor.h"
#include "daemons/smtpd/sessions.h"
#include <functional>
#include <map>
#include <memory>
#include <string>

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

    Smtpd(common::DaemonContext& context, const config::Config& config, std::unique_ptr<common::Problems> problems,
          std::unique_ptr<common::SpoolWriter> spool_writer);
    std::shared_ptr<const auth::PasswordFile> read_passwords(const common::DaemonConfig& daemon_config);
    void configure_access(const config::Config& config);
    void configure_client_tests(const config::Config& config);
    void stopped_if_done();

    common::DaemonContext& context_;
    common::Log& log_;
    std::unique_ptr<common::Problems> problems_;
    common::LoopDeadlines deadlines_;
    std::unique_ptr<common::SpoolWriter> spool_writer_;
    common::idempotency::Client keys_;
    common::RecipientChecker checker_;
    AddressVerifier verifier_;
    common::SubmissionQueue submission_queue_;
    WorkerContext worker_;
    std::map<std::string, ListeningSocket> listening_sockets_; // by name and address
    Sessions sessions_;
    common::Timer stop_timeout_; // while stopping
    std::function<void()> stopped_;
};

} // namespace smtpd
