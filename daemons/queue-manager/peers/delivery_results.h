// What the delivery agents say: their results and the ends of their connections are recorded and reported to
// the engine, and a result is acknowledged when all that it leads to is written. Knows the conversation; must
// not know why anything was delivered.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/decide/outcome/source_backoff.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/engine_driver/suppression_checks.h"
#include "daemons/queue-manager/events/message_events.h"
#include "daemons/queue-manager/peers/acknowledgements.h"
#include "daemons/queue-manager/peers/agents.h"
#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "daemons/queue-manager/spool/spool_scanner.h"
#include <functional>
#include <string_view>
#include <unordered_map>

namespace queue_manager {

class DeliveryResults {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        common::Metrics& metrics;
        const CurrentConfig& config;
        EngineDriver& driver;
        Agents& agents;
        MessageFiles& files;
        MessageLoader& loader;
        const SpoolScanner& scanner;
        SuppressionChecks& suppressions;
        MessageEvents& events;
        DeliveryProbes& probes; // get the answers to their orders
        decide::SourceBackoff& resting;
        std::function<void(spool::QueueId)> too_late_to_cancel; // all of its content has been sent
        std::function<void()> returned;                         // a turn's end is wanted
    };
    explicit DeliveryResults(Dependencies dependencies) : deps_(std::move(dependencies)) {}
    DeliveryResults(const DeliveryResults&) = delete;

    void attached(decide::queue::AgentId agent, AgentKind kind);
    void gone(decide::queue::AgentId agent, decide::queue::AgentExit how);
    void handle(decide::queue::AgentId agent, AgentKind kind, proto::delivery::Message&& message);

    // The engine knows that message now: results for it may have come while the spool was being read.
    void message_known(spool::QueueId id);
    // All of it is read. Results for messages that did not turn up are of finished ones: their agents may
    // forget them.
    void spool_loaded();

private:
    struct EarlyResult {
        decide::queue::AgentId agent;
        AgentKind kind;
        proto::delivery::Done done;
    };
    // With what the engine knows of the attempt.
    proto::delivery::Done described(proto::delivery::Done done) const;
    void done(decide::queue::AgentId agent, AgentKind kind, const proto::delivery::Done& said);
    void look_for_file(decide::queue::AgentId agent, AgentKind kind, const proto::delivery::Done& said);
    void connect(decide::queue::AgentId agent, const proto::delivery::ConnectRequest& request);
    void connected(const proto::delivery::Connected& connected);
    void closed(const proto::delivery::Closed& closed);
    void returned(const proto::delivery::Returned& back);
    void source_refused(const proto::delivery::SourceRefused& refused);
    void source_accepted(std::string_view link, std::string_view source, decide::SourceBackoff::Of what);

    Dependencies deps_;
    Acknowledgements acknowledgements_{
        [this](auto agent, auto delivery) { deps_.agents.send(agent, proto::delivery::Acknowledged{delivery}); }};
    std::unordered_multimap<spool::QueueId, EarlyResult> early_; // came before the spool was read that far
};

} // namespace queue_manager
