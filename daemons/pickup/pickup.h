// The pickup daemon: takes mail from programs on this host, over the submit socket and out of the drop
// directory, and commits it to the spool like any writer.
#pragma once
#include "daemons/common/logging/problems.h"
#include "daemons/common/process/daemon.h"
#include "daemons/pickup/drop.h"
#include "daemons/pickup/mail_directory.h"
#include "daemons/pickup/relayed_submissions.h"
#include "daemons/pickup/submit_listener.h"

namespace pickup {

class Pickup final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Pickup>> create(common::DaemonContext& context,
                                                         common::DaemonConfig daemon_config);
    void reconfigure(common::DaemonConfig daemon_config) override;
    void update_gauges(common::Metrics& metrics) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    Pickup(common::DaemonContext& context, const config::Config& config, std::unique_ptr<common::Problems> problems,
           std::unique_ptr<common::SpoolWriter> spool_writer);
    void check_stopped();

    common::DaemonContext& daemon_context_;
    std::unique_ptr<common::Problems> problems_;
    std::unique_ptr<common::SpoolWriter> spool_writer_;
    common::idempotency::Client keys_;
    common::SubmissionQueue submission_queue_;
    common::RecipientChecker recipients_;
    SubmissionContext context_;
    std::unique_ptr<SubmitListener> listener_;
    std::unique_ptr<RelayedSubmissions> relayed_;
    Drop drop_;
    MailDirectory directory_;
    common::Timer stop_check_;
    std::function<void()> stopped_;
};

} // namespace pickup
