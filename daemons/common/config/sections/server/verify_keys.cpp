// The keys of the verification of addresses.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/verify.h"
#include "libsmtp/message/address.h"
#include <fmt/format.h>

namespace config {

using namespace std::chrono_literals;

namespace {

TextKey sender_of_probes(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                if (text.empty() || text == "<>") {
                    value.clear();
                    return std::nullopt;
                }
                const auto mailbox = smtp::Mailbox::parse(text);
                if (!mailbox || mailbox->bare())
                    return fmt::format("\"{}\" is not an address with a domain", smtp::printable(text, 100));
                value = text;
                return std::nullopt;
            },
            [&value] { return value; }};
}

} // namespace

decide::verification::VerifiedAddresses::Settings memory_settings(const Verify& verify) {
    return {.positive_lifetime = verify.positive_lifetime,
            .positive_refresh = verify.positive_refresh,
            .negative_lifetime = verify.negative_lifetime,
            .negative_refresh = verify.negative_refresh,
            .temporary_lifetime = verify.temporary_lifetime,
            .most = verify.max_entries};
}

decide::verification::ProbeAdmission::Limits probe_limits(const Verify& verify) {
    return {.probes = verify.max_probes, .per_minute = verify.per_minute, .rest = 1min};
}

Section section_for(Verify& s) {
    constexpr auto year = 365 * 24h;
    return {
        "verify",
        "Verification of addresses for the access rules reject_unverified_recipient and reject_unverified_sender: a "
        "server that receives mail for the address is asked (up to RCPT; no message is sent), and the answer is "
        "remembered. postrider-access(5) describes the rules, \"postrider verify ADDRESS\" shows what is known of an "
        "address. Without such a rule these settings have no effect.",
        {
            {"wait", DurationKey{&s.wait, 100ms, 1min},
             "How long a client waits for the answer. Then its command is deferred (450), and the check continues in "
             "the background.",
             ""},
            {"positive_lifetime", DurationKey{&s.positive_lifetime, 1min, year},
             "How long a deliverable address is remembered.", ""},
            {"positive_refresh", DurationKey{&s.positive_refresh, 1min, year},
             "After what time a deliverable address is checked again when it is used. The former answer holds "
             "meanwhile; a rejection counts when a second check confirms it.",
             ""},
            {"negative_lifetime", DurationKey{&s.negative_lifetime, 1min, year},
             "How long an undeliverable address is remembered.", ""},
            {"negative_refresh", DurationKey{&s.negative_refresh, 1min, year},
             "After what time an undeliverable address is checked again when it is used. The former answer holds "
             "meanwhile.",
             ""},
            {"temporary_lifetime", DurationKey{&s.temporary_lifetime, 10s, 24h},
             "How long a temporary failure is the answer, if no other is remembered. A check that found nothing out "
             "is repeated after this time.",
             ""},
            {"sender", sender_of_probes(s.sender),
             "Envelope sender of the probes. \"\" is the null sender, which other servers do not verify in turn. Any "
             "other address must accept mail here.",
             "\"postmaster@example.com\""},
            {"maximum_entries", IntKey{&s.max_entries, 100, 10'000'000},
             "Maximum number of addresses that are remembered, in memory and on disk (state/verified/ in the spool); "
             "one takes about 500 bytes. When it is reached, addresses that are not deliverable are dropped first, the "
             "oldest of them first.",
             ""},
            {"maximum_probes", IntKey{&s.max_probes, 1, 1000},
             "Maximum number of probes at a time, in all. A link has one at a time.", ""},
            {"probes_per_minute", IntKey{&s.per_minute, 1, 6000},
             "Maximum rate of probes to a link. Addresses that exceed it wait; the client is deferred when its wait "
             "is over.",
             ""},
            {"recipient_reject_code", IntKey{&s.replies.recipient.reject_code, 400, 599},
             "Reply code for a recipient that is undeliverable. 550 rejects it permanently.", "550"},
            {"recipient_defer_code", IntKey{&s.replies.recipient.defer_code, 400, 499},
             "Reply code for a recipient that cannot be verified now.", ""},
            {"recipient_reject_reason", any_text(s.replies.recipient.reason),
             "Text of these replies instead of what the server said; \"\" for the latter.",
             "\"Address lookup failed\""},
            {"sender_reject_code", IntKey{&s.replies.sender.reject_code, 400, 599},
             "Reply code for a sender that is undeliverable.", "550"},
            {"sender_defer_code", IntKey{&s.replies.sender.defer_code, 400, 499},
             "Reply code for a sender that cannot be verified now.", ""},
            {"sender_reject_reason", any_text(s.replies.sender.reason),
             "Text of these replies instead of what the server said; \"\" for the latter.",
             "\"Address lookup failed\""},
        }};
}

} // namespace config
