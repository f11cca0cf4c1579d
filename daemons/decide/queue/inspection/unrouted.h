// All waiting mail that no link's listing shows: it waits for a next hop, for the categorizer, or for a report to its
// sender.
#pragma once
#include "daemons/decide/queue/inspection/view.h"
#include "daemons/decide/queue/listing.h"
#include <vector>

namespace decide::queue::inspection {

std::vector<Unrouted> unrouted(const View& view, std::size_t at_most); // Engine::unrouted()

} // namespace decide::queue::inspection
