// A daemon's end of the conversation with metrics: hands its figures over when asked. Metrics that is not there, hangs
// or dies costs nothing: nothing is sent unasked but the last words, and what is not taken is counted on.
#pragma once
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/logging/log.h"
#include <array>
#include <functional>
#include <string>

namespace common {

// What every process tells of itself: memory, processor time, log lines.
class ProcessFigures {
public:
    ProcessFigures(proto::Role role, const Log& log, Figures& figures) : role_(role), log_(log), figures_(figures) {}
    void measure();

private:
    proto::Role role_;
    const Log& log_;
    Figures& figures_;
    std::int64_t cpu_ = 0; // µs told so far
    LogCounts told_;
};

class FigureReporter {
public:
    // `measure`: sets the daemon's gauges; called before each handing-over.
    FigureReporter(Loop& loop, Log& log, const std::string& run, ipc::Identity identity, Figures& figures,
                   std::function<void()> measure);
    // Before the process ends.
    void last_words();

private:
    proto::figures::Handed collect();

    Figures& figures_;
    ProcessFigures process_;
    std::function<void()> measure_;
    ipc::Connector<proto::figures::Message> metrics_;
};

} // namespace common
