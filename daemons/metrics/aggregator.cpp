#include "daemons/metrics/aggregator.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/registry.h"
#include <algorithm>
#include <limits>

namespace metrics {

using proto::metrics::LinkState;

namespace {

constexpr auto largest = std::numeric_limits<std::int64_t>::max();

std::int64_t sum_of(std::int64_t a, std::int64_t b) { return a > largest - b ? largest : a + b; } // both >= 0

// As it is shown; "" where it is to be counted among the others.
std::string name_of(std::string_view link) {
    if (link.size() > Aggregator::max_name_length) return "";
    std::string name(link);
    common::make_printable(name.data(), name.data() + name.size());
    return name;
}

void accumulate(LinkState& to, const LinkState& from) {
    to.deliveries += from.deliveries;
    to.active += from.active;
    to.connections += from.connections;
    to.failing += from.failing;
    to.failures = std::max(to.failures, from.failures);
}

} // namespace

Aggregator::Aggregator() : is_gauge_(common::all_cells()), counts_(common::all_cells()) {
    for (const auto& family : common::metric_registry()) {
        const auto first = common::first_cell(family.family);
        for (auto i = first; i < first + family.series() * family.cells_of_one(); ++i)
            is_gauge_[i] = family.type == common::MetricType::gauge;
    }
}

void Aggregator::limit_links(std::size_t most, smtp::Monotonic now) {
    max_links_ = most;
    attempts_.limit(most, now);
}

void Aggregator::add(PeerId id, const proto::metrics::Report& handed, smtp::Monotonic now) {
    auto& peer = peers_[id];
    peer.gauges.clear();
    for (const auto& cell : handed.cells) {
        if (cell.number >= counts_.size() || cell.value < 0) continue;
        if (is_gauge_[cell.number])
            peer.gauges[cell.number] = cell.value;
        else
            counts_[cell.number] = sum_of(counts_[cell.number], cell.value);
    }
    peer.links = handed.links;
    peer.hooks = handed.hooks;
    for (const auto& hook : handed.hooks) {
        const auto name = name_of(hook.hook);
        if (name.empty() || (!hook_counts_.contains(name) && hook_counts_.size() >= max_hooks)) continue;
        auto& counts = hook_counts_[name];
        counts.pushed += hook.pushed;
        counts.failed += hook.failed;
        counts.dead += hook.dead;
    }
    for (const auto& table : handed.tables) {
        const auto name = name_of(table.table);
        if (name.empty() || (!table_counts_.contains(name) && table_counts_.size() >= max_tables)) continue;
        auto& counts = table_counts_[name];
        counts.found += table.found;
        counts.missing += table.missing;
        counts.failed += table.failed;
        counts.microseconds += table.microseconds;
    }
    std::vector<LinkCounts::NewAttempts> fresh;
    for (const auto& each : handed.attempts)
        fresh.push_back({name_of(each.link), {each.delivered, each.deferred, each.bounced}});
    attempts_.add(std::move(fresh), now);
}

void Aggregator::remove_peer(PeerId peer) { peers_.erase(peer); }

std::int64_t Aggregator::value(std::size_t cell) const {
    auto sum = counts_[cell];
    for (const auto& [id, peer] : peers_)
        if (const auto found = peer.gauges.find(static_cast<std::uint32_t>(cell)); found != peer.gauges.end())
            sum = sum_of(sum, found->second);
    return sum;
}

std::map<std::string, LinkState> Aggregator::links() const {
    std::map<std::string, LinkState> out;
    out[""];
    for (const auto& [id, peer] : peers_)
        for (const auto& link : peer.links) {
            auto name = name_of(link.link);
            if (!name.empty() && !out.contains(name) && out.size() > max_links_) name.clear();
            accumulate(out[name], link);
        }
    return out;
}

std::map<std::string, proto::metrics::HookState> Aggregator::hooks() const {
    auto out = hook_counts_;
    for (const auto& [id, peer] : peers_)
        for (const auto& hook : peer.hooks)
            if (const auto found = out.find(name_of(hook.hook)); found != out.end()) {
                found->second.behind = hook.behind;
                found->second.working = hook.working;
            }
    return out;
}

} // namespace metrics
