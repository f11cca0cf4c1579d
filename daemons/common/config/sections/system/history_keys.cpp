// The keys of the journal.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/history.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace config {

using namespace std::chrono_literals;

namespace {
constexpr EnumValue<RecordedAddresses> recorded_addresses[] = {{"clear", RecordedAddresses::clear},
                                                               {"hashed", RecordedAddresses::hashed}};
constexpr EnumValue<RecordedDialogue> recorded_dialogue[] = {{"none", RecordedDialogue::none},
                                                             {"failures", RecordedDialogue::failures}};

// Fields whose addresses the journal would have a second time, where they are neither hashed nor searched for.
constexpr std::string_view address_fields[] = {
    "from",         "sender",        "reply-to",    "to",
    "cc",           "bcc",           "resent-from", "resent-sender",
    "resent-to",    "resent-cc",     "resent-bcc",  "return-path",
    "delivered-to", "x-original-to", "errors-to",   "disposition-notification-to"};

// Names of header fields (RFC 5322, 2.2).
ListKey field_names(std::vector<std::string>& names) {
    return list_of<std::string>(names, [&names](std::string_view text, std::string& value) -> Refusal {
        constexpr std::size_t longest_name = 76;
        value = text;
        const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != ':'; });
        if (text.empty() || text.size() > longest_name || !printable)
            return fmt::format("\"{}\" is not the name of a header field: expected one such as \"Subject\"", text);
        if (std::ranges::find(address_fields, smtp::lowered(text)) != std::end(address_fields))
            return fmt::format("\"{}\": addresses are in the journal as sender and recipients; in a header field they "
                               "could not be hashed",
                               text);
        if (names.size() == History::most_headers)
            return fmt::format("too many fields: expected at most {}", History::most_headers);
        return std::nullopt;
    });
}

} // namespace

Section section_for(History& s) {
    return {
        "history",
        "The journal, postrider-journal(5): what became of every message. It is on stable storage before the message "
        "leaves the spool. It names senders, recipients and servers, but has no content of mail.",
        {
            {"enabled", BoolKey{&s.enabled}, "Whether the journal is written. Applied at start.", ""},
            {"required", BoolKey{&s.required},
             "Whether new mail is rejected for now (452) while the journal cannot be written. Otherwise mail is "
             "accepted and delivered without a record. Mail that has been accepted is delivered in either case.",
             ""},
            {"directory", any_text(s.directory),
             "Directory of the journal; \"\" means history/ in the spool directory. Another one is made at start if it "
             "does not exist and the user mta.user can make it; it must belong to that user and be on a local file "
             "system. Applied at start.",
             ""},
            {"sync", DurationKey{&s.sync, 1ms, 10s},
             "Interval at which new lines are written and synced, if there are any. It is also how long a finished "
             "message stays in the spool: if all processes are killed during this time, its last recipients may be "
             "served a second time.",
             ""},
            {"keep", DurationKey{&s.keep, 0s, 24h * 3650},
             "How long events are kept. A segment, which has at most an hour of them, is removed when its last event "
             "is older than this. 0: no limit.",
             ""},
            {"size", SizeKey{&s.size, 0, 1024 * 1024 * GiB},
             "Maximum size of the journal on disk. Beyond it the oldest segments are removed. 0: no limit.", ""},
            {"door_events_per_second", IntKey{&s.door_events_per_second, 0, 100'000},
             "Events about clients, such as session.rejected, that each smtpd process records per "
             "second. Of more than that, only the number is recorded. 0: none are recorded.",
             ""},
            {"addresses", one_of(s.addresses, recorded_addresses),
             "How the journal records addresses of senders and recipients: \"clear\", or \"hashed\", with a key "
             "of this spool. Hashed ones are found by commands that are given the address, and are not readable "
             "otherwise. The domains stay readable. Applies to what is recorded from then on. Applied at start.",
             ""},
            {"headers", field_names(s.headers),
             "Header fields that the journal records with each message, at most 512 bytes of each, as \"Subject\" or "
             "\"List-Id\"; at most 10. They are found by \"postrider history header.NAME=VALUE\". Fields that have "
             "addresses are not allowed. Applies to messages that are accepted from then on.",
             "[\"Subject\", \"List-Id\"]"},
            {"dialogue", one_of(s.dialogue, recorded_dialogue),
             "Whether events of failed delivery attempts have the end of the SMTP dialogue: \"failures\", or "
             "\"none\". At most 20 lines and 2 KiB, without content, passwords and other recipients.",
             ""},
            {"keep_failed", DurationKey{&s.keep_failed, 0s, 24h * 365},
             "How long the content of a message is kept after it has left the queue, if it failed or expired for "
             "a recipient. During this time \"postrider message resend\" sends it again. Mail with the null "
             "sender, such as reports, is not kept. 0: it is removed like all finished mail. Requires "
             "history.enabled.",
             ""},
            {"keep_failed_size", SizeKey{&s.keep_failed_size, 1 * MiB, 1024 * GiB},
             "Maximum size on disk of the messages kept by keep_failed. If it is exceeded, the oldest are removed.",
             ""},
        }};
}

} // namespace config
