#include "daemons/queue-manager/journal_backlog.h"
#include "daemons/queue-manager/journal/journal.h"
#include <utility>

namespace queue_manager {

using decide::queue::Scope;

void JournalBacklog::changed(bool too_much) {
    driver_.later([this, too_much] { too_much ? pause() : resume(); });
}

void JournalBacklog::failing(std::string why) {
    failure_ = std::move(why);
    problems_.report("journal", failure_);
    refuse_mail();
}

void JournalBacklog::configure(const config::History& settings) {
    required_ = settings.required;
    refuse_mail();
}

void JournalBacklog::pause() {
    pausing_ = true;
    log_.warning("journal: {} finished messages wait for it: nothing is delivered until it has caught up",
                 Journal::most_waiting);
    driver_.tell([](auto& engine, smtp::Now now, auto& out) { engine.pause(Scope::everything, "", now, out); });
}

void JournalBacklog::resume() {
    pausing_ = false;
    log_.info("journal: it has caught up: mail is delivered again");
    if (pauses_.everything() || stopping_) return;
    driver_.tell([](auto& engine, smtp::Now now, auto& out) { engine.resume(Scope::everything, "", now, out); });
}

} // namespace queue_manager
