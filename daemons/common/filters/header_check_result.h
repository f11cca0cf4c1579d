// The result of the content's rules for one incoming message: its header edited, its recipients changed, and the
// remaining actions for its writer. For smtpd and pickup; must not know who sent it.
#pragma once
#include "daemons/common/filters/content_checks.h"
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
    std::string hold, discard;  // not empty: why
    std::string content_filter; // not empty: the message goes there first
    bool is_final() const { return refusal || !discard.empty(); }
};

// Those of its own header. `message` is loaded.
HeaderCheckResult check_header(const ContentRules& rules, milter::Message& message);

// What a rule has found that changes no bytes, or whose bytes are changed already: the rest of what it does.
void take_finding(ContentFinding finding, milter::Message& message, HeaderCheckResult& result);

} // namespace common
