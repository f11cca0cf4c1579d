// What trouble with the journal means for mail: deliveries stop while too many finished messages wait for it, so that
// their number has a bound; no mail is accepted while it cannot be written, if it is required. Knows the queue engine,
// the operators' pauses, which it leaves in force, and the writers; nothing of lines and files.
#pragma once
#include "daemons/common/config/sections/system/history.h"
#include "daemons/common/logging/log.h"
#include "daemons/queue-manager/control/pauses_in_force.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/peers/message_writers.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include <string>
#include <string_view>

namespace queue_manager {

class JournalBacklog {
public:
    // All outlive it.
    JournalBacklog(common::Log& log, EngineDriver& driver, const PausesInForce& pauses, MessageWriters& writers,
                   ProblemList& problems)
        : log_(log), driver_(driver), pauses_(pauses), writers_(writers), problems_(problems) {}
    JournalBacklog(const JournalBacklog&) = delete;

    // Too many wait; or few enough again. Soon, not at once: the engine may be in the middle of a step.
    void changed(bool too_much);
    // The journal cannot be written, and why; "": it can.
    void failing(std::string why);
    // Before anything else is called, and whenever it changes.
    void configure(const config::History& settings);
    // Nothing is delivered again before this process ends.
    void stop() { stopping_ = true; }
    // Why nothing is delivered; "": not because of the journal.
    std::string_view obstacle() const { return pausing_ ? "too many finished messages wait for the journal" : ""; }

private:
    void refuse_mail() { writers_.refuse_mail(MessageWriters::Refusal::journal, required_ ? failure_ : ""); }
    void pause();
    void resume();

    common::Log& log_;
    EngineDriver& driver_;
    const PausesInForce& pauses_;
    MessageWriters& writers_;
    ProblemList& problems_;
    std::string failure_;
    bool required_ = false;
    bool pausing_ = false, stopping_ = false;
};

} // namespace queue_manager
