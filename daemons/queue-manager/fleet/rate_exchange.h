// Rates that all nodes of the fleet keep together: passes the engine's questions for tokens to the fleet process, and
// what that answers to the engine. Must not know what the tokens are for.
#pragma once
#include "daemons/common/proto/fleet_rates.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include <functional>

namespace queue_manager {

class RateExchange {
public:
    struct Dependencies { // all outlive it
        EngineDriver& driver;
        std::function<void(const proto::fleet::AskTokens&)> send;
    };
    explicit RateExchange(Dependencies dependencies) : deps_(std::move(dependencies)) {}
    RateExchange(const RateExchange&) = delete;
    RateExchange& operator=(const RateExchange&) = delete;

    void ask(const decide::queue::AskTokens& question);
    void received(const proto::fleet::Tokens& answer);
    void received(const proto::fleet::Sharing& sharing);
    // The fleet process has gone.
    void disconnected();

private:
    void tell();

    Dependencies deps_;
    std::optional<decide::queue::FleetPresence> presence_; // as it was said last
};

} // namespace queue_manager
