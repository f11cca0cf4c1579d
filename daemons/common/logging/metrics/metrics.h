// What one process has counted since it last sent its metrics, and what it measured. Counting
// is one addition to a cell, from any thread, without locks; sending resets the counts, so
// that the receiver only adds, and a restart of either side does not decrease a sum.
#pragma once
#include "daemons/common/logging/metrics/registry.h"
#include "daemons/common/proto/metrics.h"
#include "libsmtp/text/time_types.h"
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace common {

class Metrics {
public:
    Metrics() : cells_(std::make_unique<std::atomic<std::int64_t>[]>(all_cells())) {}

    // metrics.count(MetricId::rejects, RejectStage::rcpt, RejectClass::permanent)
    template <class... L> void count(MetricId family, L... labels) { add(family, 1, labels...); }
    template <class... L> void add(MetricId family, std::uint64_t n, L... labels) {
        cells_[cell(family, labels...)].fetch_add(static_cast<std::int64_t>(n), std::memory_order_relaxed);
    }
    // µs are what a cell of a time holds.
    template <class... L> void set(MetricId family, std::int64_t value, L... labels) {
        cells_[cell(family, labels...)].store(value, std::memory_order_relaxed);
    }
    template <class... L> void observe(MetricId family, smtp::Duration time, L... labels) {
        observe_at(cell(family, labels...), time);
    }

    // ---- links; from one thread only ----

    // An attempt for a recipient. Of very many links between two hand-overs the last ones are counted together.
    void count_link(std::string_view link, DeliveryOutcome outcome);
    // As they are now: the busiest ones, and one named "" for all others.
    void set_links(std::vector<proto::metrics::LinkState> links) { links_ = std::move(links); }

    // ---- hooks; from one thread only ----

    // As they are now; their counts since the process began.
    void set_hooks(std::vector<proto::metrics::HookState> hooks) { hooks_ = std::move(hooks); }

    // ---- tables in databases; from one thread only ----

    enum class TableResult : std::uint8_t { found, missing, failed };
    // A lookup and the time it took. Of very many tables between two hand-overs the last ones are not counted.
    void count_table(const std::string& table, TableResult result, smtp::Duration time);

    // Counts are 0 afterwards; what was measured stays.
    proto::metrics::Report take();

    static constexpr std::size_t max_named_links = 1000; // counted one by one between two hand-overs
    static constexpr std::size_t max_named_tables = 200;

private:
    template <class... L> static std::size_t cell(MetricId family, L... labels) {
        return cell_of(family, {static_cast<std::size_t>(labels)...});
    }
    void observe_at(std::size_t first, smtp::Duration time);

    std::unique_ptr<std::atomic<std::int64_t>[]> cells_;
    std::unordered_map<std::string, std::array<std::uint64_t, 3>> attempts_; // by link, by outcome
    std::vector<proto::metrics::LinkState> links_;
    std::vector<proto::metrics::HookState> hooks_, reported_hooks_;
    std::unordered_map<std::string, proto::metrics::TableState> tables_;
};

} // namespace common
