// The log line of one recipient's delivery, as Postfix prints it and log analysers read it:
//   QID: to=<…>[, orig_to=<…>], relay=…[, conn_use=N], delay=D, delays=a/b/c/d, dsn=2.0.0, status=sent (…)
// Knows words and numbers; not what they are about.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace common {

// Two significant digits, nothing below a hundredth, no trailing zeros: "0", "0.05", "1.2", "12", "345".
std::string delay_text(smtp::Duration delay);

// Where the time went.
struct Delays {
    smtp::Duration before_queue{}, in_queue{}, setup{}, transmission{};
    // From the moments themselves; whatever has not happened is as late as what came before it.
    // `setup`: of the connection, 0 if it was there.
    static Delays of(smtp::WallTime arrived, smtp::WallTime queued, smtp::Duration setup, smtp::Duration transmission,
                     smtp::WallTime finished);
};

enum class DeliveryStatus : std::uint8_t {
    sent,
    deferred,
    bounced,
    deliverable,   // of an address that was only to be verified, as
    undeliverable, // this
};

struct DeliveryLine {
    spool::QueueId queue_id;
    std::string_view to, original_to; // original_to: "" or the same: left out
    std::string_view relay = "none";
    std::uint64_t connection_use = 1; // left out if 1
    Delays delays;
    std::string_view status; // enhanced: "2.0.0"
    DeliveryStatus outcome = DeliveryStatus::deferred;
    std::string_view reason;
};

DeliveryOutcome outcome_of(const DeliveryLine& line);
void write(const LogContext& log_context, const DeliveryLine& line);
// The same in metrics.
void count(Metrics& metrics, Transport transport, const DeliveryLine& line);

} // namespace common
