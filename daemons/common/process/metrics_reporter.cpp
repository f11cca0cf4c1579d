#include "daemons/common/process/metrics_reporter.h"
#include "daemons/common/runtime/fd.h"
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace common {

namespace {

// The second number of statm is the resident pages.
std::int64_t resident_bytes() {
    const Fd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
    char text[128] = "";
    const auto n = file ? ::read(file.number(), text, sizeof text - 1) : 0;
    if (n <= 0) return 0;
    const char* end = text + n;
    const char* at = static_cast<const char*>(std::memchr(text, ' ', static_cast<std::size_t>(n)));
    std::int64_t pages = 0;
    if (at) std::from_chars(at + 1, end, pages);
    return pages * ::sysconf(_SC_PAGESIZE);
}

std::int64_t processor_time() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto micros = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
    return micros(usage.ru_utime) + micros(usage.ru_stime);
}

} // namespace

void ProcessMetrics::measure() {
    metrics_.set(MetricId::processes, 1, role_);
    metrics_.set(MetricId::memory, resident_bytes(), role_);
    const auto cpu = processor_time();
    metrics_.add(MetricId::cpu_seconds, static_cast<std::uint64_t>(cpu - std::exchange(cpu_, cpu)), role_);
    const auto now = log_.counts();
    const auto tell = [&](Severity severity, LogSeverity as) {
        const auto i = static_cast<std::size_t>(severity);
        metrics_.add(MetricId::log_lines, now.lines[i] - told_.lines[i], as);
    };
    tell(Severity::info, LogSeverity::info);
    tell(Severity::warning, LogSeverity::warning);
    tell(Severity::error, LogSeverity::error);
    tell(Severity::critical, LogSeverity::critical);
    metrics_.add(MetricId::log_lines_lost, now.lost - told_.lost);
    told_ = now;
}

MetricsReporter::MetricsReporter(Loop& loop, Log& log, const std::string& run, ipc::Identity identity, Metrics& metrics,
                                 std::function<void()> measure)
    : metrics_(metrics), process_(identity.role, log, metrics), measure_(std::move(measure)),
      collector_(loop, log, run + "/private/metrics", proto::metrics::conversation, identity,
                 {[this](proto::metrics::Message&& message) {
                     const auto* ask = std::get_if<proto::metrics::Ask>(&message);
                     if (!ask || collector_.congested()) return;
                     auto handed = collect();
                     handed.round = ask->round;
                     static_cast<void>(collector_.send(handed)); // fits: named links are limited (metrics.h)
                 }}) {}

void MetricsReporter::send_final() {
    if (collector_.up() && !collector_.congested()) static_cast<void>(collector_.send(collect()));
}

proto::metrics::Report MetricsReporter::collect() {
    process_.measure();
    measure_();
    return metrics_.take();
}

} // namespace common
