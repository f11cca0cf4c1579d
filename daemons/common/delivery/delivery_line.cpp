#include "daemons/common/delivery/delivery_line.h"
#include <algorithm>

namespace common {

using std::chrono::microseconds;

std::string delay_text(smtp::Duration delay) {
    const std::int64_t us = std::max<std::int64_t>(0, delay.count());
    const std::int64_t step = us >= 10'000'000 ? 1'000'000 : us >= 1'000'000 ? 100'000 : 10'000;
    const std::int64_t hundredths = (us + step / 2) / step * step / 10'000;
    if (hundredths % 100 == 0) return fmt::format_int(hundredths / 100).str();
    if (hundredths % 10 == 0) return fmt::format("{}.{}", hundredths / 100, hundredths % 100 / 10);
    return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

Delays Delays::of(smtp::WallTime arrived, smtp::WallTime queued, smtp::Duration setup, smtp::Duration transmission,
                  smtp::WallTime finished) {
    Delays out;
    queued = std::max(arrived, queued);
    out.before_queue = queued - arrived;
    out.setup = setup;
    out.transmission = transmission;
    out.in_queue = std::max(smtp::Duration(0), smtp::Duration(finished - queued) - setup - transmission);
    return out;
}

DeliveryOutcome outcome_of(const DeliveryLine& line) {
    switch (line.outcome) {
    case DeliveryStatus::sent: return DeliveryOutcome::delivered;
    case DeliveryStatus::bounced: return DeliveryOutcome::bounced;
    case DeliveryStatus::deferred:
    case DeliveryStatus::deliverable:
    case DeliveryStatus::undeliverable: break;
    }
    return DeliveryOutcome::deferred;
}

static std::string_view word_of(DeliveryStatus outcome) {
    constexpr std::string_view words[] = {"sent", "deferred", "bounced", "deliverable", "undeliverable"};
    return words[static_cast<std::size_t>(outcome)];
}

void write(const LogContext& log_context, const DeliveryLine& line) {
    const Delays& d = line.delays;
    const bool renamed = !line.original_to.empty() && line.original_to != line.to;
    const auto use = line.connection_use > 1 ? fmt::format(", conn_use={}", line.connection_use) : std::string();
    log_context.info("{}: to=<{}>{}{}{}, relay={}{}, delay={}, delays={}/{}/{}/{}, dsn={}, status={} ({})",
                     line.queue_id.text(), line.to, renamed ? ", orig_to=<" : "", renamed ? line.original_to : "",
                     renamed ? ">" : "", line.relay, use,
                     delay_text(d.before_queue + d.in_queue + d.setup + d.transmission), delay_text(d.before_queue),
                     delay_text(d.in_queue), delay_text(d.setup), delay_text(d.transmission), line.status,
                     word_of(line.outcome), line.reason);
}

void count(Metrics& metrics, Transport transport, const DeliveryLine& line) {
    const auto outcome = outcome_of(line);
    metrics.count(MetricId::deliveries, transport, outcome);
    if (outcome != DeliveryOutcome::delivered) return;
    const Delays& d = line.delays;
    metrics.observe(MetricId::delay_seconds, d.before_queue + d.in_queue + d.setup + d.transmission);
    metrics.observe(MetricId::delay_stage_seconds, d.before_queue, DelayStage::before_queue);
    metrics.observe(MetricId::delay_stage_seconds, d.in_queue, DelayStage::in_queue);
    metrics.observe(MetricId::delay_stage_seconds, d.setup, DelayStage::connection);
    metrics.observe(MetricId::delay_stage_seconds, d.transmission, DelayStage::transmission);
}

} // namespace common
