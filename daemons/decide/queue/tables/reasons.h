// The failure that keeps a delivery waiting.
#pragma once
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/queues.h"

namespace decide::queue {

// Its route's, its link's, its queue's, or what the categorizer said; empty: it waits for nothing that failed.
Reason reason_of(const Deliveries& deliveries, const Links& links, const Queues& queues, const Delivery& delivery);

} // namespace decide::queue
