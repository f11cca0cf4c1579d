// The limits of a link in force, and the keys of the configuration that they come from.
#pragma once
#include "daemons/decide/queue/inspection/view.h"
#include "daemons/decide/queue/listing.h"
#include <string_view>
#include <vector>

namespace decide::queue::inspection {

std::vector<LinkLimit> limits_of(const View& view, std::string_view link);
// The key that limits the link's connections.
std::string limit_key(const View& view, const Link& link);

} // namespace decide::queue::inspection
