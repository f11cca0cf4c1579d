// The metrics process: asks the other daemons for their counts when metrics are scraped, keeps the sums, and serves
// them over HTTP. Nothing depends on it: mail flows whether it runs, hangs or dies. Reads no file, opens no
// connection; its sockets are passed down by master.
#pragma once
#include "daemons/common/config/sections/system/metrics.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/process/metrics_reporter.h"
#include "daemons/metrics/aggregator.h"
#include "daemons/metrics/collection.h"
#include "daemons/metrics/health.h"
#include "daemons/metrics/pages.h"
#include "daemons/metrics/text_readers.h"
#include <map>
#include <memory>
#include <string>

namespace metrics {

class Metrics final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Metrics>> create(common::DaemonContext& context,
                                                          common::DaemonConfig daemon_config);
    explicit Metrics(common::DaemonContext& context);

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    void process_ended(const std::string& role, std::uint32_t instance, bool crashed) override;

private:
    void serve(std::vector<common::InheritedListener> handed, const config::Metrics& settings);
    Pages::Makers makers();
    ServiceHealth health() const;

    common::DaemonContext& context_;
    Aggregator aggregator_;
    common::ProcessMetrics process_;
    Collection collection_;
    std::unique_ptr<ipc::Listener> listener_;
    web::BodyMemory memory_;
    Pages pages_;
    TextReaders text_readers_;
    std::map<std::string, std::unique_ptr<web::Server>> servers_; // by address
};

} // namespace metrics
