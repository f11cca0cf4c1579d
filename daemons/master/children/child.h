// One process that master supervises: starts it, sends its orders, pings it, records its state, restarts it. Decides
// nothing about the others; its supervisor is notified of events.
#pragma once
#include "daemons/common/config/sections/system/master.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/process/process_plan.h"
#include "daemons/common/process/supervision.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/master/children/backoff.h"
#include "daemons/master/children/spawn.h"
#include <memory>
#include <string>

namespace master {

class Child {
public:
    enum class State { waiting, starting, ready, stopping, ended };

    class Supervisor {
    public:
        virtual Program program_of(const Child& child) = 0;
        virtual void send_orders(const Child& child, common::MasterLink& link) = 0;
        virtual const config::Master& rules() = 0;
        virtual void ready(Child& child) = 0;
        virtual void problem_changed(Child& child) = 0;
        virtual void answered(Child& child) = 0; // a heartbeat
        virtual void token_wanted(Child& child, const proto::supervision::AccessTokenWanted& wanted) = 0;
        virtual void sink_wanted(Child& child, const proto::supervision::SinkWanted& wanted) = 0;
        // Do the processes of other roles answer? If they do not, the machine is slow and no process hangs.
        virtual bool other_roles_answer(const Child& child) = 0;
        // Has the kernel killed a process for lack of memory that this has not reported yet?
        virtual bool out_of_memory() = 0;
        // crashed: by itself, by hanging, or by using up the memory: what it had in flight is suspect. Called before
        // it is started again (if it is).
        virtual void ended(Child& child, bool crashed) = 0;

    protected:
        ~Supervisor() = default;
    };

    Child(common::Loop& loop, common::Log& log, Supervisor& supervisor, common::PlannedProcess plan);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void start();
    // Sends the orders again (reload, logs re-opened).
    void resend_orders();
    // Every heartbeat interval: kills it after too many unanswered ones, else asks once more.
    void heartbeat();
    void stop(smtp::Duration within);
    void kill();
    void tell(const proto::supervision::ProcessEnded& died);
    // `file`: the token, sealed, or -1.
    void answer(const proto::supervision::AccessToken& token, int file);
    // `pipes`: as the message states, or none.
    void answer(const proto::supervision::Sink& sink, const std::vector<int>& pipes);
    // The status of waitpid(2).
    void has_ended(int status);

    const common::PlannedProcess& plan() const { return plan_; }
    const std::string& name() const { return plan_.name; }
    State state() const { return state_; }
    std::string_view state_name() const;
    pid_t pid() const { return pid_; } // 0: none now
    bool alive() const { return pid_ != 0; }
    std::uint64_t generation() const { return generation_; } // of the configuration it serves; 0 not yet
    const std::string& problem() const { return problem_; }
    const std::string& status_text() const { return status_text_; } // its last report on the state of its work; "" none
    const std::string& confinement() const { return confinement_; }
    std::uint64_t restarts() const { return restarts_; }
    unsigned unanswered() const { return unanswered_; } // heartbeats
    unsigned deaths_in_a_row() const { return backoff_.in_a_row(); }
    smtp::WallTime since() const { return since_; } // of the state

private:
    void take(proto::supervision::Message&& message);
    void enter(State state);
    bool is_hung() const;
    bool explain_end(int status);

    common::Loop& loop_;
    common::Log& log_;
    Supervisor& supervisor_;
    common::PlannedProcess plan_;
    State state_ = State::ended;
    pid_t pid_ = 0;
    std::unique_ptr<common::MasterLink> link_;
    common::Timer restart_;
    Backoff backoff_;
    std::string problem_, status_text_, confinement_;
    std::uint64_t restarts_ = 0, generation_ = 0, pings_ = 0;
    unsigned unanswered_ = 0;
    bool killed_ = false;
    bool hung_ = false;             // that is why it was killed
    bool reported_problem_ = false; // this process has reported its problem
    smtp::WallTime since_{};
    smtp::Monotonic entered_{};
};

} // namespace master
