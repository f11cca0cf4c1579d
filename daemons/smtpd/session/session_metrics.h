// What of a client's session is counted, in the words of the metrics.
#pragma once
#include "daemons/common/logging/metrics/metrics.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/server_session.h"

namespace smtpd {

void count_reject(common::Metrics& metrics, smtp::Verb command, const smtp::Reply& reply);
void count_end(common::Metrics& metrics, smtp::event::Disconnect::Cause cause);

} // namespace smtpd
