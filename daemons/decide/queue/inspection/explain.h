// Why a delivery is still here: every gate between it and a connection, in order.
#pragma once
#include "daemons/decide/queue/inspection/view.h"
#include "daemons/decide/queue/listing.h"
#include <vector>

namespace decide::queue::inspection {

std::vector<Explanation> explain(const View& view, spool::QueueId id); // one for each delivery of the message

} // namespace decide::queue::inspection
