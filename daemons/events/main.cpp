// events: keeps the journal of what became of every message. See postrider-events(8).
#include "daemons/events/events.h"

int main() {
    constexpr unsigned one_thread = 1; // compressing and indexing may take their time
    return common::run_daemon<events::Events>(proto::Role::events, "events", one_thread);
}
