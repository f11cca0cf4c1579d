// Why a delivery is still here: every gate between it and a connection, in order.
#pragma once
#include "daemons/decide/queue/inspection/view.h"
#include "daemons/decide/queue/listing.h"
#include <vector>

namespace decide::queue::inspection {

// One for each delivery of the message that has a recipient in `range`.
std::vector<Explanation> explain(const View& view, spool::QueueId id, const RecipientRange& range);

} // namespace decide::queue::inspection
