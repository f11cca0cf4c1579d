// The fleet process: talks to the store that several nodes share, for the other daemons of this one, so that they need
// neither its password nor the network. Publishes this node, knows the others, shares the suppression list, and says in
// the status who is silent and what it means while the store is away. Nothing waits for it.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/logging/problems.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/fleet.h"
#include "daemons/fleet/control.h"
#include "daemons/fleet/heartbeat.h"
#include "daemons/fleet/keys/key_sharing.h"
#include "daemons/fleet/rates/node_count.h"
#include "daemons/fleet/rates/rate_tokens.h"
#include "daemons/fleet/store_client.h"
#include "daemons/fleet/suppression_sync.h"
#include <memory>
#include <optional>
#include <string>

namespace fleet {

class Fleet final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Fleet>> create(common::DaemonContext& context,
                                                        common::DaemonConfig daemon_config);
    Fleet(common::DaemonContext& context, const std::string& node);

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    std::string status_text() override;
    void update_gauges(common::Metrics& metrics) override;

private:
    void use_store(StoreClient::Settings settings);
    void connect_queue_manager();
    NodeFacts facts() const;
    std::string effect() const; // of the store being away; "": it is not
    std::string meaning() const;
    void report();
    void report_eviction();
    void report_nodes(smtp::Monotonic now);
    void share_rates(smtp::Monotonic now);

    common::DaemonContext& context_;
    common::Problems problems_;
    std::string node_; // our name
    std::unique_ptr<StoreClient> store_;
    std::optional<proto::fleet::Facts> facts_; // what the queue-manager said last
    std::uint32_t expected_nodes_ = 0;
    bool shares_rates_ = false; // a route does
    NodeCount count_;
    bool was_away_ = false;
    std::optional<proto::fleet::Sharing> sharing_; // as the queue-manager knows it
    std::string eviction_policy_;                  // as it was logged
    std::string silent_;                           // as it was logged
    smtp::Monotonic next_line_{};                  // about them, not before
    bool namesake_ = false, clock_wrong_ = false;  // likewise
    std::unique_ptr<Heartbeat> heartbeat_;
    std::unique_ptr<SuppressionSync> suppressions_;
    KeySharing keys_;
    std::unique_ptr<RateTokens> tokens_;
    common::Timer watch_;
    std::unique_ptr<Control> control_;
    std::unique_ptr<ipc::Connector<proto::fleet::Message>> queue_manager_;
};

} // namespace fleet
