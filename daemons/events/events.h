// The events process: follows the journal that the queue-manager writes; compresses, indexes and removes its segments
// at idle priority, and runs the hooks. Nothing depends on it: mail flows and is recorded whether it runs, hangs or
// dies. Reads no mail.
#pragma once
#include "daemons/common/ipc/listener.h"
#include "daemons/common/logging/problems.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/wake.h"
#include "daemons/events/erasure_control.h"
#include "daemons/events/hooks/hook_control.h"
#include "daemons/events/hooks/hooks.h"
#include "daemons/events/journal_keeper.h"
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

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
    void serve(common::DaemonConfig& daemon_config);
    void start_step();
    void take();
    void log(const KeeperReport& report);
    void report_size();
    void report_failure(const spool::Error& error);
    void finish_stop();

    common::DaemonContext& context_;
    common::Problems problems_;
    Hooks hooks_;
    std::shared_ptr<Erasures> erasures_; // of the journal in path_
    ErasureControl erasure_control_;
    std::unique_ptr<HookControl> control_;    // null before the first configuration
    std::unique_ptr<ipc::Listener> listener_; // of http; null likewise
    std::string path_;
    KeepLimits limits_;
    std::shared_ptr<JournalKeeper> keeper_; // null: no journal yet
    common::Timer timer_;
    // A step runs on a thread of its own, which is idle: the threads of the loop have work that is not.
    common::Wake step_ended_;
    std::atomic<bool> give_up_ = false;
    spool::Result<KeeperReport> result_ = KeeperReport{}; // the thread's, until it has ended
    std::jthread step_;
    std::function<void()> stopped_; // set: no further step
    bool hooks_stopped_ = false;
    KeeperReport last_;
    std::string failure_; // reported; "" none
};

} // namespace events
