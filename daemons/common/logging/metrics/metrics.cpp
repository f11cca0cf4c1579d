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

namespace {

// A count that is lower than before has begun again.
std::uint64_t increase(std::uint64_t now, std::uint64_t before) { return now >= before ? now - before : now; }

} // namespace

void Metrics::count_table(const std::string& table, TableResult result, smtp::Duration time) {
    if (tables_.size() >= max_named_tables && !tables_.contains(table)) return;
    auto& state = tables_[table];
    ++(result == TableResult::found ? state.found : result == TableResult::missing ? state.missing : state.failed);
    state.microseconds += static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
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
    for (auto hook : hooks_) {
        const auto before = std::ranges::find(reported_hooks_, hook.hook, &proto::metrics::HookState::hook);
        if (before != reported_hooks_.end()) {
            hook.pushed = increase(hook.pushed, before->pushed);
            hook.failed = increase(hook.failed, before->failed);
            hook.dead = increase(hook.dead, before->dead);
        }
        out.hooks.push_back(std::move(hook));
    }
    reported_hooks_ = hooks_;
    for (auto& [table, state] : tables_) {
        state.table = table;
        out.tables.push_back(std::move(state));
    }
    tables_.clear();
    return out;
}

} // namespace common
