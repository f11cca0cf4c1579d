// What of a client's session is counted, in the words of the figures.
#pragma once
#include "daemons/common/logging/metrics/metrics.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/server_session.h"

namespace smtpd {

void count_reject(common::Figures& figures, smtp::Verb command, const smtp::Reply& reply);
void count_end(common::Figures& figures, smtp::event::Disconnect::Cause cause);

} // namespace smtpd
