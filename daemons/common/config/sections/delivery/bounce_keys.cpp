// The keys of reports to senders, and of test periods in which no mail may be lost by mistake.
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
        "Reports to senders about failed and delayed mail.",
        {
            {"display_name", any_text(s.display_name), "Display name in the From field of reports.", ""},
            {"templates", any_text(s.templates), "Directory with custom texts for reports; \"\" for the built-in ones.",
             ""},
            {"dsn_full_content_limit", SizeKey{&s.full_content_limit, 0, 64 * MiB},
             "Maximum size of a message that a report contains completely. Reports about larger messages contain "
             "only the header.",
             ""},
            {"dsn_over_quota_partial_headers", BoolKey{&s.over_quota_partial_headers},
             "Whether reports that a mailbox is over quota contain only the most important header fields.", ""},
            {"postmaster_copy", one_of_list(s.postmaster_copy, postmaster_copies),
             "Reports of which postmaster of mta.origin gets a copy, without the message's text: \"failed\" (every "
             "report that mail failed), \"delayed\" (every delay notice), \"undeliverable\" (every report that could "
             "not be delivered to its sender).",
             "[\"undeliverable\"]"},
            {"soft_bounce", BoolKey{&s.soft_bounce},
             "Whether to make all failures temporary, for migration and testing: no mail is rejected or returned "
             "permanently. Mail that fails is kept and retried, mail does not expire, and senders, recipients and "
             "messages that would be rejected with 5xx are rejected with 4xx. \"postrider status\" reports this.",
             ""},
            {"withhold_reports", BoolKey{&s.dry_bounce},
             "Whether to write reports to the spool's bad/ directory instead of sending them. \"postrider status\" "
             "reports this.",
             ""},
        }};
}

} // namespace config
