// Answers requests that only look: status, links, queues, one message, what explains a delay, where an
// address leads, what a new configuration would do to queued mail. Knows the engine's listings and the
// messages' files; changes nothing.
#pragma once
#include "daemons/decide/outcome/source_backoff.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/queue-manager/control/pauses_in_force.h"
#include "daemons/queue-manager/control/queue_status.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/events/recent_changes.h"
#include "daemons/queue-manager/probe/route_query.h"
#include "daemons/queue-manager/requests/replies.h"
#include "daemons/queue-manager/spool/suppressions.h"
#include "daemons/queue-manager/transfers/transfers.h"
#include "libspool/disk/commit_pool.h"
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace queue_manager {

class QueueInspector {
public:
    struct Dependencies { // all outlive it
        const CurrentConfig& config;
        const decide::queue::Engine& engine;
        spool::CommitPool& pool;
        const Suppressions& suppressions;
        const PausesInForce& pauses;
        const decide::SourceBackoff& resting; // source addresses
        RecentChanges& recent;
        const Transfers& transfers;
        RouteQuery& route_query;
        std::function<QueueStatus()> status;
    };
    QueueInspector(Dependencies dependencies, Replies replies) : deps_(std::move(dependencies)), replies_(replies) {}
    QueueInspector(const QueueInspector&) = delete;

    void send_status(const Request& request) const;
    void send_recent(const Request& request) const;
    void send_links(const Request& request, const nlohmann::json& body) const;
    void send_link(const Request& request, const nlohmann::json& body) const;
    void send_queues(const Request& request, const nlohmann::json& body) const;
    void send_queue(const Request& request, const std::string& name) const;
    enum class View : std::uint8_t { message, explanation };
    void send_message(const Request& request, const nlohmann::json& body, View view) const;
    void send_routes(const Request& request, const std::string& address) const;
    void send_reload_effects(const Request& request, const nlohmann::json& body) const;

private:
    static std::optional<decide::queue::BusiestFirst> part_in(const nlohmann::json& body, const char* name);
    nlohmann::json status() const;
    nlohmann::json links_with_mail() const;
    nlohmann::json line_of(const decide::queue::LinkInfo& link) const;
    nlohmann::json line_of(const decide::queue::QueueInfo& queue) const;
    nlohmann::json resting(const std::string& link) const;
    struct FileContents;
    void send_read(const Request& request, spool::QueueId id, View view, const FileContents& file) const;
    void send_findings(const Request& request, const RouteQuery::Findings& findings) const;

    Dependencies deps_;
    Replies replies_;
};

} // namespace queue_manager
