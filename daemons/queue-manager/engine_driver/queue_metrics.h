// The queue's gauges: how much waits for what, and the busiest links. Walking over all links and messages takes its
// time with very many of them, so it costs a hundredth of the process's time at most: until then the former metrics
// stand.
#pragma once
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/decide/queue/engine.h"
#include <cstdint>
#include <vector>

namespace queue_manager {

class QueueMetrics {
public:
    void take(const decide::queue::Engine& engine, std::uint32_t most_links, common::Metrics& metrics);

private:
    smtp::Monotonic not_before_{}; // the next walk
};

// The `most` links with most to deliver (among equals failing ones first), and one named "" for all others together.
std::vector<proto::metrics::LinkState> busiest(const std::vector<decide::queue::LinkInfo>& links, std::size_t most);

} // namespace queue_manager
