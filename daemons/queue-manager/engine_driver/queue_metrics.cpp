#include "daemons/queue-manager/engine_driver/queue_metrics.h"
#include "daemons/common/runtime/loop.h"
#include <algorithm>
#include <tuple>

namespace queue_manager {

using common::MetricId;
using common::QueueState;
using decide::queue::LinkInfo;
using proto::metrics::LinkState;

constexpr int share = 100; // the next walk starts after at least this many times the duration of the last one

static bool is_failing(const LinkInfo& link) { return link.down || link.health != decide::queue::Health::ready; }

std::vector<LinkState> busiest(const std::vector<LinkInfo>& links, std::size_t most) {
    std::vector<const LinkInfo*> order;
    order.reserve(links.size());
    for (const auto& link : links) order.push_back(&link);
    const auto key = [](const LinkInfo* link) {
        return std::tuple(link->deliveries, is_failing(*link), std::string_view(link->name));
    };
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
    std::ranges::partial_sort(order, end, std::ranges::greater(), key);
    std::vector<LinkState> out;
    LinkState rest;
    const auto add = [](LinkState& to, const LinkInfo& link) {
        to.deliveries += link.deliveries;
        to.active += link.in_flight;
        to.connections += link.connections;
        to.failing += is_failing(link);
    };
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto& link = *order[i];
        if (i >= most || link.name.empty()) {
            add(rest, link);
            continue;
        }
        auto& named = out.emplace_back();
        named.link = link.name;
        named.failures = link.failures;
        add(named, link);
    }
    out.push_back(rest);
    return out;
}

void QueueMetrics::take(const decide::queue::Engine& engine, std::uint32_t most_links, common::Metrics& metrics) {
    const auto counts = engine.counts();
    const auto set = [&](MetricId family, std::uint64_t value, auto... labels) {
        metrics.set(family, static_cast<std::int64_t>(value), labels...);
    };
    set(MetricId::queue_messages, counts.messages);
    set(MetricId::queue_connections, counts.connections);
    set(MetricId::queue_deliveries, counts.uncategorized, QueueState::uncategorized);
    set(MetricId::queue_deliveries, counts.scheduled, QueueState::scheduled);
    set(MetricId::queue_deliveries, counts.held, QueueState::held);
    set(MetricId::queue_deliveries, counts.paused, QueueState::paused);
    set(MetricId::queue_deliveries, counts.routing, QueueState::routing);
    set(MetricId::queue_deliveries, counts.retrying, QueueState::retrying);
    set(MetricId::queue_deliveries, counts.free, QueueState::due);
    set(MetricId::queue_deliveries, counts.active, QueueState::active);
    set(MetricId::queue_deliveries, counts.reports, QueueState::report);
    const auto now = common::Loop::now();
    if (now.monotonic < not_before_) return;
    const auto oldest = engine.oldest(now);
    metrics.set(MetricId::queue_oldest_age,
                oldest ? std::max<std::int64_t>(0, (now.wall - oldest->arrival).count()) : 0);
    const auto links = engine.links(now);
    set(MetricId::queue_links, links.size());
    set(MetricId::queue_links_failing, static_cast<std::uint64_t>(std::ranges::count_if(links, is_failing)));
    metrics.set_links(busiest(links, most_links));
    const auto after = common::Loop::now().monotonic;
    not_before_ = after + share * (after - now.monotonic);
}

} // namespace queue_manager
