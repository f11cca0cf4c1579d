// Stops all deliveries while too many finished messages wait for the journal, so that their number has a bound. Knows
// the queue engine and the operators' pauses, which it leaves in force; nothing of lines and files.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/queue-manager/control/pauses_in_force.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include <string_view>

namespace queue_manager {

class JournalBacklog {
public:
    // All outlive it.
    JournalBacklog(common::Log& log, EngineDriver& driver, const PausesInForce& pauses)
        : log_(log), driver_(driver), pauses_(pauses) {}
    JournalBacklog(const JournalBacklog&) = delete;

    // Too many wait; or few enough again. Soon, not at once: the engine may be in the middle of a step.
    void changed(bool too_much);
    // Nothing is delivered again before this process ends.
    void stop() { stopping_ = true; }
    // Why nothing is delivered; "": not because of the journal.
    std::string_view obstacle() const { return pausing_ ? "too many finished messages wait for the journal" : ""; }

private:
    void pause();
    void resume();

    common::Log& log_;
    EngineDriver& driver_;
    const PausesInForce& pauses_;
    bool pausing_ = false, stopping_ = false;
};

} // namespace queue_manager
