// The queue-manager's side of run/control (proto/control.h): passes each request to the part that answers it. An
// operator's change is durable before it is answered. Knows the operations by name; must not know what any of them
// does.
#pragma once
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/ipc/json_relay.h"
#include "daemons/queue-manager/requests/content_requests.h"
#include "daemons/queue-manager/requests/drain_requests.h"
#include "daemons/queue-manager/requests/erasure_requests.h"
#include "daemons/queue-manager/requests/message_changes.h"
#include "daemons/queue-manager/requests/message_lister.h"
#include "daemons/queue-manager/requests/message_selection.h"
#include "daemons/queue-manager/requests/pause_requests.h"
#include "daemons/queue-manager/requests/probe_requests.h"
#include "daemons/queue-manager/requests/queue_inspector.h"
#include "daemons/queue-manager/requests/replies.h"
#include "daemons/queue-manager/requests/restore_requests.h"
#include "daemons/queue-manager/requests/suppression_requests.h"
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace queue_manager {

class Control {
public:
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        const CurrentConfig& config;
        EngineDriver& driver;
        spool::CommitPool& pool;
        MessageFiles& files;
        MessageIntake& intake;
        Journal& journal;
        MessageEvents& events;
        SystemEvents& system_events;
        Suppressions& suppressions;
        PausesInForce& pauses;
        DeliveryStops& stops;
        RouteQuery& route_query;
        DeliveryProbes& probes;
        AddressVerification& verification;
        const decide::SourceBackoff& resting; // source addresses
        Transfers& transfers;
        RecentChanges& recent;
        ProblemList& problems;
        std::function<bool(const std::string&)> is_node;     // [node.<name>]
        std::function<void(const std::string&)> refuse_mail; // because of a drain, and why; "" it is taken
        std::function<QueueStatus()> status;
        std::function<bool()> http_content; // http.content
    };
    // `fd`: bound and listening. Only `operators` are answered.
    Control(const Dependencies& dependencies, common::Fd fd, common::Operators operators);
    Control(const Control&) = delete;

    // Requests that http passes on.
    void attach(std::unique_ptr<ipc::JsonRelay::Channel> http) { relay_.attach(std::move(http)); }

private:
    void handle(const Request& request, const nlohmann::json& body);
    bool look(const Request& request, const nlohmann::json& body, std::string_view operation);
    bool change(const Request& request, const nlohmann::json& body, std::string_view operation);

    ipc::JsonServer server_;
    ipc::JsonRelay relay_;
    Replies replies_{server_, relay_};
    QueueInspector inspector_;
    MessageSelection selection_;
    MessageLister lister_;
    ContentRequests content_;
    MessageChanges changes_;
    PauseRequests pauses_;
    RestoreRequests restore_;
    SuppressionRequests suppressions_;
    ErasureRequests erasures_;
    ProbeRequests probes_;
    DrainRequests drain_;
};

} // namespace queue_manager
