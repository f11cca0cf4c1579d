// The keys of reports to senders, and of the time when nothing may be lost by a mistake.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/delivery/bounce.h"
#include "daemons/common/config/sections/key_tables.h"

namespace config {

namespace {

constexpr std::string_view postmaster_copies[] = {"failed", "delayed", "undeliverable"};

} // namespace

Section section_for(Bounce& s) {
    return {
        "bounce",
        "Reports to senders: what failed, what is delayed.",
        {
            {"display_name", any_text(s.display_name), "Name in front of the report's From address.", ""},
            {"templates", any_text(s.templates),
             "Directory with texts of your own; \"\" for the built-in ones.", ""},
            {"dsn_full_content_limit", SizeKey{&s.full_content_limit, 0, 64 * MiB},
             "A report on a larger message carries its header only.", ""},
            {"dsn_over_quota_partial_headers", BoolKey{&s.over_quota_partial_headers},
             "A report to a mailbox that is over quota carries only the most important header fields.", ""},
            {"postmaster_copy", one_of_list(s.postmaster_copy, postmaster_copies),
             "What postmaster of mta.origin is told too, without the message's text: \"failed\" each report that mail "
             "failed, \"delayed\" each notice of delay, \"undeliverable\" each report that could not be delivered to "
             "its sender.",
             "[\"undeliverable\"]"},
            {"soft_bounce", BoolKey{&s.soft_bounce},
             "While a system is moved here or tried out: no mail is refused or returned for good. What fails is kept "
             "and tried again, mail does not expire, and senders, recipients and messages that would be refused with "
             "5xx are refused with 4xx. Seen in postrider status.",
             ""},
            {"dry_bounce", BoolKey{&s.dry_bounce},
             "Reports are written to the spool's bad directory and sent to nobody. Seen in postrider status.", ""},
        }};
}

} // namespace config
