// What of a client's session is counted, in the words of the figures.
#pragma once
#include "daemons/common/figures/figures.h"
#include "libsmtp/reply.h"
#include "libsmtp/server_session.h"
#include <string_view>

namespace smtpd {

// `command` as the reject line in the log has it: "CONNECT", "RCPT", "END-OF-MESSAGE" …
void count_reject(common::Figures& figures, std::string_view command, const smtp::Reply& reply);
void count_end(common::Figures& figures, smtp::event::Disconnect::Cause cause);

} // namespace smtpd
