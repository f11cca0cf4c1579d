// When a link goes down or comes up: every queue that goes by a configured route is asked about again.
#pragma once
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/queues.h"
#include "daemons/decide/queue/tables/route_lookups.h"
#include <optional>

namespace decide::queue {

class RouteResets {
public:
    RouteResets(const Settings& settings, Step& step, const Services& services, const Links& links, Queues& queues,
                RouteLookups& lookups)
        : settings_(settings), step_(step), services_(services), links_(links), queues_(queues), lookups_(lookups) {}

    void schedule();
    void run(); // if it is time
    void answered(Slot queue, bool found, bool moved);
    std::optional<smtp::Monotonic> next() const;

private:
    const Settings& settings_;
    Step& step_;
    const Services& services_;
    const Links& links_;
    Queues& queues_;
    RouteLookups& lookups_;

    std::optional<smtp::Monotonic> at_;
    smtp::Monotonic last_{};
    std::uint32_t open_ = 0, moved_ = 0, asked_ = 0; // of the last one: queues not answered yet, moved, in all
    bool failed_ = false;
};

} // namespace decide::queue
