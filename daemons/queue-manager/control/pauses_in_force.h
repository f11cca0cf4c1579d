// The pauses by operators that are in force now, and how listings and test deliveries show them. The file (pauses.h) is
// written before a change takes effect here. Knows pauses and the engine's listings; must not know its callers.
#pragma once
#include "daemons/common/proto/route.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/queue-manager/control/pause_text.h"
#include "daemons/queue-manager/control/pauses.h"
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace queue_manager {

class PausesInForce {
public:
    PausesInForce() = default;
    PausesInForce(const PausesInForce&) = delete;

    const Pauses& all() const { return all_; }
    void replace(Pauses pauses) { all_ = std::move(pauses); }

    // Who paused everything and why, if it is paused.
    std::optional<std::string> everything() const;
    // The pause that stops all of its mail; "": none.
    std::string covering(decide::queue::Scope scope, const std::string& name,
                         const decide::queue::Engine& engine) const;
    // Sets the pause as the reason of deliveries that it stops, and their time as that of scheduled ones.
    // What `transfers` says of a message that is being moved to another node comes first.
    void set_reasons(decide::queue::MessageInfo& info) const;
    void name_transfers(std::function<std::string(spool::QueueId)> transfers) { transfers_ = std::move(transfers); }
    // Why mail on this route would wait: pauses, or a link or queue with problems.
    std::vector<std::string> obstacles(const proto::route::Routed& route, const decide::queue::Engine& engine) const;

private:
    Pauses all_;
    std::function<std::string(spool::QueueId)> transfers_;
};

} // namespace queue_manager
