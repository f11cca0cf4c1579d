// The suppression list as operators see and change it: list, check, add, remove. What is long is read a batch
// at a time on a thread. Knows the list; must not know the queue.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/requests/replies.h"
#include "daemons/queue-manager/spool/suppressions.h"
#include "libspool/disk/commit_pool.h"
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace queue_manager {

class SuppressionRequests {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        const CurrentConfig& config;
        spool::CommitPool& pool;
        Suppressions& suppressions;
    };
    SuppressionRequests(const Dependencies& dependencies, Replies replies) : deps_(dependencies), replies_(replies) {}
    SuppressionRequests(const SuppressionRequests&) = delete;

    void change(const Request& request, const nlohmann::json& body, Suppressions::Operation operation);
    void list(const Request& request, const nlohmann::json& body);
    void remove_matching(const Request& request, const nlohmann::json& body);
    void check(const Request& request, const nlohmann::json& body);

private:
    enum class Purpose : std::uint8_t { list, remove };
    struct Walk;
    void walk(const Request& request, const nlohmann::json& body, Purpose purpose);
    void step(const std::shared_ptr<Walk>& walk);
    void remove(const std::shared_ptr<Walk>& walk, Suppressions::Entries matched);
    void go_on(const std::shared_ptr<Walk>& walk);

    Dependencies deps_;
    Replies replies_;
};

} // namespace queue_manager
