// Operators' pauses: one request after the other is written to the file, then takes effect and is reported to the
// engine. And the immediate retry of a queue, link or pool, or of everything. Knows the pauses' file and the engine's
// gates.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/queue-manager/control/pauses_in_force.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/events/system_events.h"
#include "daemons/queue-manager/requests/replies.h"
#include "libspool/disk/commit_pool.h"
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

namespace queue_manager {

class PauseRequests {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        const CurrentConfig& config;
        EngineDriver& driver;
        spool::CommitPool& pool;
        PausesInForce& pauses;
        SystemEvents& events;
    };
    PauseRequests(const Dependencies& dependencies, Replies replies) : deps_(dependencies), replies_(replies) {}
    PauseRequests(const PauseRequests&) = delete;

    enum class Operation : std::uint8_t { pause, resume };
    void change(const Request& request, const nlohmann::json& body, Operation operation);
    void force(const Request& request, const nlohmann::json& body);
    void force_everything(const Request& request);

private:
    struct Change {
        Request request;
        Operation operation;
        Pause pause;
    };
    using Place = std::pair<decide::queue::Scope, std::string>;
    std::optional<Place> place_in(const Request& request, const nlohmann::json& body) const;
    std::string error_of(decide::queue::Scope scope, const std::string& name) const; // "" it may be paused
    void next();
    void written(const Change& change, Pauses pauses, const spool::Result<>& result);

    Dependencies deps_;
    Replies replies_;
    std::deque<Change> waiting_; // one after the other: each writes the whole file
    bool writing_ = false;
};

} // namespace queue_manager
