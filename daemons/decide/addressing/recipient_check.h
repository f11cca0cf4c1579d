// Would this address be accepted? Asked at RCPT: rewriting is followed, aliases are not. Pure, like the
// expansion, whose tables and settings it uses.
#pragma once
#include "daemons/decide/addressing/expansion.h"
#include <set>
#include <string>
#include <string_view>

namespace decide {

struct RecipientCheck {
    enum class Verdict { known, unknown, not_local, try_later, pending };
    Verdict verdict = Verdict::known;
    std::string status = {};                 // unknown: "5.1.1", "5.1.6" …
    std::string text = {};                   // unknown, try_later
    bool suppressed = false;                 // unknown: because it is on the suppression list
    std::set<LookupRequest> unanswered = {}; // not_yet: what to find out about
    bool operator==(const RecipientCheck&) const = default;
};

RecipientCheck check_recipient(std::string_view address, const ExpansionSettings& settings,
                               const ExpansionTables& tables);

} // namespace decide
