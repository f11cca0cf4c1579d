// The outcome of a delivery, for its readers: the log's line for each recipient, metrics, and the queue-manager's
// Done. Knows the session only by the facts in the report.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/smtp-client/session/attempt_failures.h"
#include "daemons/smtp-client/session/delivery_job.h"
#include "libsmtp/session/client_session.h"
#include <string>

namespace smtp_client {

struct SessionFacts { // of a connection, as far as it has come
    common::LogContext log;
    std::uint64_t connection; // its number
    const std::string& link;
    bool lmtp = false, implicit_tls = false;
    std::uint64_t deliveries = 0;           // over this session, with this one
    smtp::Duration setup{};                 // until it was up, or until now
    proto::delivery::SetupTimes times = {}; // its parts
    std::string relay = {}, tls = {}, source = {};
};

// Each writes a line of the log for each recipient of the delivery, whose message is open, counts them, and makes the
// report. Of a transaction over the session:
proto::delivery::Done report(const SessionFacts& facts, common::Metrics* metrics, const DeliveryJob& job,
                             const smtp::TransactionResult& result);
// Of a delivery whose conversation did not take place:
proto::delivery::Done report(const SessionFacts& facts, common::Metrics* metrics, const DeliveryJob& job,
                             const AttemptFailure& failure);

// The message cannot be read: the file is damaged, gone, or not as the order has it.
proto::delivery::Done unreadable(const SessionFacts& facts, const DeliveryJob& job);
proto::delivery::Done refused(const SessionFacts& facts, const DeliveryJob& job, const spool::ReadError& error);

} // namespace smtp_client
