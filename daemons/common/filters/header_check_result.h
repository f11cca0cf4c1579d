// The result of the header checks for one incoming message: its header edited, its recipients
// redirected, and the remaining actions for its writer. For smtpd and pickup; must not know who sent it.
#pragma once
#include "daemons/common/filters/milter/message.h"
#include "daemons/common/lookup/format/header_checks.h"
#include "libsmtp/protocol/reply.h"
#include <optional>
#include <string>
#include <vector>

namespace common {

struct HeaderCheckResult {
    // "QID: <verb>: <subject> from …: <text>"
    struct Line {
        std::string verb;    // "reject", "warning" …
        std::string subject; // "header Subject: you have won"
        std::string text;
        bool operator==(const Line&) const = default;
    };
    std::vector<Line> lines; // for the log, one for each finding
    std::vector<std::string> warnings;
    std::optional<smtp::Reply> refusal;
    std::string hold, discard; // not empty: why
};

// `message` is loaded.
HeaderCheckResult check_header(const HeaderChecks& checks, milter::Message& message);

} // namespace common
