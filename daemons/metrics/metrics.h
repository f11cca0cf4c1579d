// The metrics process: asks the other daemons for what they have counted when somebody scrapes, keeps the sums, and
// serves them over HTTP. Nothing depends on it: mail flows whether it is there, hangs or dies. Reads no file, opens no
// connection; its sockets are handed down by master.
#pragma once
#include "daemons/common/process/daemon.h"
#include "daemons/common/process/metrics_reporter.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/metrics/aggregator.h"
#include "daemons/metrics/collection.h"
#include "daemons/metrics/http_server.h"
#include <map>
#include <memory>
#include <string>

namespace metrics {

class Metrics final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Metrics>> create(common::Surroundings& surroundings, common::Orders orders);
    explicit Metrics(common::Surroundings& surroundings);

    void reconfigure(common::Orders orders) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    void died(const std::string& role, std::uint32_t instance, bool crashed) override;

private:
    void serve(std::vector<common::HandedListener> handed, const config::Metrics& settings);

    common::Surroundings& around_;
    Ledger ledger_;
    common::ProcessFigures process_;
    Rounds rounds_;
    std::unique_ptr<ipc::Listener> listener_;
    std::map<std::string, std::unique_ptr<Web>> webs_; // by address
};

} // namespace metrics
