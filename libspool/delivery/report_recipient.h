// One recipient of a report to the sender: from the decision that a report is due to the daemon that writes it.
#pragma once
#include "libsmtp/delivery/remote_reply.h"
#include "libsmtp/dsn/report_kind.h"
#include <cstdint>

namespace spool {

struct ReportRecipient {
    std::uint32_t number = 0;                         // in MessageState::recipients
    smtp::ReportKind kind = smtp::ReportKind::failed; // the report's; in a status its own, never status
    bool expired = false; // reason is then the last known, or empty: the spool file's last attempt tells
    smtp::RemoteReply reason;
    std::int64_t last_attempt = 0; // µs since 1970; 0: none, or not looked up yet
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("kind", m.kind);
        f("expired", m.expired);
        f("reason", m.reason);
        f("last_attempt", m.last_attempt);
    }
};

} // namespace spool
