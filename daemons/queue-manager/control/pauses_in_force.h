// What operators have paused, as it is in force now, and what listings and test deliveries show of it. The
// file (pauses.h) is written before a change is put in force here. Knows pauses and the engine's listings;
// must not know who asks.
#pragma once
#include "daemons/common/proto/route.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/queue-manager/control/pause_text.h"
#include "daemons/queue-manager/control/pauses.h"
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

    // By whom and why, if everything is paused.
    std::optional<std::string> everything() const;
    // Which pause keeps all that is there; "": none.
    std::string covering(decide::queue::Scope scope, const std::string& name,
                         const decide::queue::Engine& engine) const;
    // What an operator's pause keeps has that for its reason, and what is scheduled its time.
    void set_reasons(decide::queue::MessageInfo& info) const { set_pause_reasons(info, all_); }
    // Why mail that takes this route would wait: pauses, a link or queue that is not well.
    std::vector<std::string> obstacles(const proto::route::Routed& route, const decide::queue::Engine& engine) const;

private:
    Pauses all_;
};

} // namespace queue_manager
