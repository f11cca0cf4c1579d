// All processes that master looks after: starts those of a plan, follows a new plan, and sums up their
// states. Decides nothing about one of them; that is Child, and its supervisor.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/process/process_plan.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/master/children/child.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace master {

class ChildGroup {
public:
    // All must outlive it.
    ChildGroup(common::Loop& loop, common::Log& log, Child::Supervisor& supervisor);

    // Starts all of a plan, in its order.
    void start(std::vector<common::PlannedProcess> plan);
    // As many workers as the new plan wants: new ones are started, surplus ones stopped within that time.
    void follow(std::vector<common::PlannedProcess> plan, smtp::Duration stop_within);
    // Forgets those that have ended and are not started again; not at once, so that a caller may still refer
    // to one.
    void forget_ended() { sweep_.schedule(); }

    // On SIGCHLD.
    void reap();
    void heartbeat();
    void resend_orders();
    void kill();

    const std::vector<std::unique_ptr<Child>>& all() const { return children_; }
    Child* with_pid(pid_t pid) const; // null: it has ended
    // `generation`: of the configuration in force.
    bool all_ready(std::uint64_t generation) const;
    bool any_behind(std::uint64_t generation) const;           // ready, but with an earlier configuration
    std::string unready_names(std::uint64_t generation) const; // "router, smtpd/0 (its problem)"; "" all are ready
    std::string alive_names() const;
    // Do the processes of all other roles answer?
    bool other_roles_answer(const Child& child) const;

private:
    void add(common::PlannedProcess planned);

    common::Loop& loop_;
    common::Log& log_;
    Child::Supervisor& supervisor_;
    std::vector<std::unique_ptr<Child>> children_;
    common::TurnHook sweep_;
};

} // namespace master
