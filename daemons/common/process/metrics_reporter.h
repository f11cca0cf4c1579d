// A daemon's end of the conversation with metrics: sends its metrics on request. If metrics is missing, hangs
// or crashes, nothing is lost: only the final report is sent unasked, and counts that were not taken are kept.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include <array>
#include <functional>
#include <string>

namespace common {

// What every process reports about itself: memory, processor time, log lines.
class ProcessMetrics {
public:
    ProcessMetrics(proto::Role role, const Log& log, Metrics& metrics) : role_(role), log_(log), metrics_(metrics) {}
    void measure();

private:
    proto::Role role_;
    const Log& log_;
    Metrics& metrics_;
    std::int64_t cpu_ = 0; // µs reported so far
    LogCounts told_;
};

class MetricsReporter {
public:
    // `measure`: sets the daemon's gauges; called before each report.
    MetricsReporter(Loop& loop, Log& log, const std::string& run, ipc::Identity identity, Metrics& metrics,
                    std::function<void()> measure);
    // Before the process ends.
    void send_final();

private:
    proto::metrics::Report collect();

    Metrics& metrics_;
    ProcessMetrics process_;
    std::function<void()> measure_;
    ipc::Connector<proto::metrics::Message> collector_;
};

} // namespace common
