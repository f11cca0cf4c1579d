// Stops all processes, phase by phase (PlannedProcess::stop_phase): those that take new mail, then the queue,
// then all others, each within a part of the time limit. What has not ended by then is killed.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/process/process_plan.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/master/children/child_group.h"
#include <functional>

namespace master {

class OrderlyStop {
public:
    struct Callbacks {
        std::function<void(const Child&)> stopping; // a process that is alive
        std::function<void()> stopped;              // once: all have ended
    };
    // All must outlive it.
    OrderlyStop(common::Loop& loop, common::Log& log, ChildGroup& children, Callbacks callbacks);

    void begin(smtp::Duration limit);
    // After begin(): a process has ended.
    void child_ended();

    // How long all of it takes at most.
    static smtp::Duration longest(smtp::Duration limit) { return limit + common::stop_phases * grace; }

private:
    static constexpr smtp::Duration grace = std::chrono::seconds(1); // after its time, before a process is killed
    void begin_phase();
    void phase_timed_out();

    common::Log& log_;
    ChildGroup& children_;
    Callbacks callbacks_;
    common::Timer bound_;
    smtp::Duration limit_{};
    unsigned phase_ = 0;
};

} // namespace master
