#include "daemons/common/logging/metrics/metrics.h"
#include <algorithm>

namespace common {

void Metrics::observe_at(std::size_t first, smtp::Duration time) {
    const auto bounds = histogram_bounds();
    const auto micros = std::max<std::int64_t>(0, time.count());
    const auto bucket = static_cast<std::size_t>(std::ranges::lower_bound(bounds, micros) - bounds.begin());
    cells_[first + bucket].fetch_add(1, std::memory_order_relaxed);
    cells_[first + bounds.size() + 1].fetch_add(micros, std::memory_order_relaxed);
}

void Metrics::count_link(std::string_view link, DeliveryOutcome outcome) {
    auto found = attempts_.find(std::string(link));
    if (found == attempts_.end())
        found = attempts_.try_emplace(attempts_.size() < max_named_links ? std::string(link) : std::string()).first;
    ++found->second[static_cast<std::size_t>(outcome)];
}

proto::metrics::Report Metrics::take() {
    proto::metrics::Report out;
    for (const auto& family : metric_registry()) {
        const auto first = first_cell(family.family);
        const auto end = first + family.series() * family.cells_of_one();
        for (auto i = first; i < end; ++i) {
            const auto value = family.type == MetricType::gauge ? cells_[i].load(std::memory_order_relaxed)
                                                                : cells_[i].exchange(0, std::memory_order_relaxed);
            if (value != 0) out.cells.push_back({static_cast<std::uint32_t>(i), value});
        }
    }
    for (const auto& [link, n] : attempts_) out.attempts.push_back({link, n[0], n[1], n[2]});
    attempts_.clear();
    out.links = links_;
    return out;
}

} // namespace common
