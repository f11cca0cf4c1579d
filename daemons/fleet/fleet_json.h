// The lines for `postrider fleet` (proto/fleet_control.h), from values. Pure.
#pragma once
#include "daemons/fleet/node_list.h"
#include "daemons/fleet/redis/availability.h"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fleet {

struct StoreFacts {
    std::string address, version, effect, node;
    std::uint32_t expected_nodes = 0;
    const redis::Availability& availability;
};

// The line of the store, then one for each node.
std::vector<nlohmann::json> lines_of(const StoreFacts& store, const NodeList& list, smtp::Monotonic now);

} // namespace fleet
