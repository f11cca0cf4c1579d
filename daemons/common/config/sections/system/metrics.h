// Where metrics for Prometheus are served, and for how many links. Values.
#pragma once
#include "daemons/common/net/network.h"
#include <cstdint>
#include <vector>

namespace config {

struct Metrics {
    std::vector<common::Endpoint> listen; // empty: nothing is served, and no process runs for it
    std::uint32_t links = 20;             // told one by one; all others together

    bool enabled() const { return !listen.empty(); }
};

} // namespace config
