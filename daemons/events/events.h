// The events process: follows the journal that the queue-manager writes; compresses, indexes and removes its segments
// at idle priority. Nothing depends on it: mail flows and is recorded whether it runs, hangs or dies. Reads no mail.
#pragma once
#include "daemons/common/config/sections/system/history.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/events/journal_keeper.h"
#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace events {

class Events final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Events>> create(common::DaemonContext& context,
                                                         common::DaemonConfig daemon_config);
    explicit Events(common::DaemonContext& context);
    ~Events() override;

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    std::string status_text() override;
    void update_gauges(common::Metrics& metrics) override;

private:
    struct Job; // a step on the other thread
    void start_step();
    void take(const spool::Result<KeeperReport>& result);
    void log(const KeeperReport& report);
    void report_failure(const spool::Error& error);

    common::DaemonContext& context_;
    std::string path_;
    KeepLimits limits_;
    std::shared_ptr<JournalKeeper> keeper_; // null: no journal yet
    common::Timer timer_;
    Job* job_ = nullptr;
    std::shared_ptr<std::atomic<bool>> give_up_ = std::make_shared<std::atomic<bool>>(false);
    std::function<void()> stopped_; // set: no further step
    KeeperReport last_;
    std::string failure_; // reported; "" none
};

} // namespace events
