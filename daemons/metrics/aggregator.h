// The sums of what all processes have reported. Counts only grow, whichever process restarts; gauges are those of the
// connected processes. Reports are not trusted to be valid: unknown cells, unknown names and negative numbers where
// there can be none are left out. Pure.
#pragma once
#include "daemons/common/proto/metrics.h"
#include "daemons/metrics/link_counts.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace metrics {

class Aggregator {
public:
    using PeerId = std::uint64_t;

    Aggregator();
    void limit_links(std::size_t most, smtp::Monotonic now);
    void add(PeerId peer, const proto::metrics::Report& handed, smtp::Monotonic now);
    void remove_peer(PeerId peer);

    std::int64_t value(std::size_t cell) const; // of all together
    const LinkCounts& attempts() const { return attempts_; }
    // By name; "" all others together.
    std::map<std::string, proto::metrics::LinkState> links() const;

    // By name; counts of those that have been removed stay. At most max_hooks.
    std::map<std::string, proto::metrics::HookState> hooks() const;

    // Lookups in databases, by table; at most max_tables.
    const std::map<std::string, proto::metrics::TableState>& tables() const { return table_counts_; }

    static constexpr std::size_t max_name_length = 255, max_hooks = 100, max_tables = 200;

private:
    struct Peer {
        std::map<std::uint32_t, std::int64_t> gauges;
        std::vector<proto::metrics::LinkState> links;
        std::vector<proto::metrics::HookState> hooks;
    };
    std::vector<bool> is_gauge_; // by cell
    std::vector<std::int64_t> counts_;
    std::map<PeerId, Peer> peers_;
    std::size_t max_links_ = 0;
    LinkCounts attempts_;
    std::map<std::string, proto::metrics::HookState> hook_counts_; // without what is measured
    std::map<std::string, proto::metrics::TableState> table_counts_;
};

} // namespace metrics
