// Maps what an agent observed to an event for the engine: what failed, and whether the peer also asks for fewer
// connections. Pure.
#pragma once
#include "daemons/decide/outcome/failure.h"
#include "daemons/decide/queue/events.h"

namespace decide::queue {

// For a recipient that was not delivered to. `reason` must outlive the event.
Result observed(RecipientNumber number, Outcome outcome, const Observation& seen, const Reason& reason);

// For a connection that failed.
Closed failed(ConnectionId connection, bool was_up, const Observation& seen, const Reason& reason);

} // namespace decide::queue
