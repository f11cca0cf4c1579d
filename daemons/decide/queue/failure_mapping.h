// From what an agent saw to what the engine is told of it: whose failure it is, and whether it also means
// "not so many connections". Pure.
#pragma once
#include "daemons/decide/outcome/failure.h"
#include "daemons/decide/queue/events.h"

namespace decide::queue {

// Of a recipient that was not delivered to. `reason` must outlive the event.
Result observed(RecipientNumber number, Outcome outcome, const Observation& seen, const Reason& reason);

// Of a connection that failed.
Closed failed(ConnectionId connection, bool was_up, const Observation& seen, const Reason& reason);

} // namespace decide::queue
