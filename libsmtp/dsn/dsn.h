// Composes delivery status notifications: RFC 3464 in the multipart/report of RFC 6522, as a complete message with CRLF
// line ends. Pure: facts, time and wording are passed in. The caller decides whom to notify, and whether at all.
#pragma once
#include "libsmtp/delivery/remote_reply.h"
#include "libsmtp/dsn/report_kind.h"
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp::dsn {

// RFC 3464, 2.3.3; the last two are Postfix's, for verification without a message (sendmail -bv).
enum class Action : std::uint8_t { failed, delayed, delivered, relayed, expanded, deliverable, undeliverable };
constexpr std::string_view name_of(Action action) {
    constexpr std::string_view names[] = {"failed",   "delayed",     "delivered",    "relayed",
                                          "expanded", "deliverable", "undeliverable"};
    return names[static_cast<std::size_t>(action)];
}
// For a recipient in a report of that kind; in a status report each has its own.
constexpr Action action_of(ReportKind kind) {
    switch (kind) {
    case ReportKind::delayed: return Action::delayed;
    case ReportKind::delivered: return Action::delivered;
    case ReportKind::relayed: return Action::relayed;
    case ReportKind::expanded: return Action::expanded;
    case ReportKind::failed:
    case ReportKind::status: break;
    }
    return Action::failed;
}

struct Recipient {
    std::string original_recipient;    // ORCPT, decoded: "rfc822;user@example.org", "utf-8;…"; "" for none
    std::string final_recipient;       // "user@example.org"
    std::optional<Action> action = {}; // in a status report; unset: the report's kind
    RemoteReply reason;                // its status is adapted if it does not fit the action
    std::optional<WallTime> last_attempt;
    std::string advice = {}; // what to do about it, if the reporter knows more than the status tells
};

enum class Return : std::uint8_t {
    few_headers, // only those by which a person recognizes the message
    headers,
    full,
};

// Wording the operator may replace. Placeholders, each replaced once: {host} {postmaster} {sender}
// {recipients} {arrival} {retry_until} {queue_id}. {recipients} stands for the list of addresses with their
// reasons and is added at the end of a text that lacks it. UTF-8; line ends LF or CRLF.
struct Wording {
    std::string subject;
    std::string text;
};
Wording default_wording(ReportKind kind);
// Is it one of the placeholders, without its braces?
bool is_placeholder(std::string_view word);

struct Report {
    ReportKind kind = ReportKind::failed;
    std::string host;                                  // reporting MTA: its host name
    std::string from;                                  // header From, "MAILER-DAEMON@example.org"
    std::string display_name = "Mail Delivery System"; // before it; UTF-8
    std::string postmaster;                            // contact address, "postmaster@example.org"
    std::string sender;                                // reverse-path of the message: the report's recipient …
    std::string copy_to = {};                          // … unless this is a copy, for "postmaster@example.org"
    bool smtputf8 = false;   // the sender's system understands a report of RFC 6533: the message was SMTPUTF8, too
    std::string queue_id;    // of the message reported on
    std::string report_id;   // queue id of the report: Message-ID and boundary come from it
    std::string envelope_id; // ENVID, xtext decoded; "" for none
    WallTime arrival;
    std::optional<WallTime> deliver_by = {}; // RFC 2852
    WallTime now;
    std::optional<WallTime> retry_until; // delayed only
    std::chrono::minutes zone{0};
    std::vector<Recipient> recipients; // only those that this report is about
    std::string_view content;          // the message, at least its header; CRLF. Read up to `content_complete`
    bool content_complete = true;
    Return returns = Return::headers; // full is cut to headers above the limit or when content is not complete
    std::size_t full_content_limit = 50 * 1024;
    std::size_t headers_limit = 64 * 1024; // of a header longer than this only the first fields are returned
    Wording wording = {};                  // empty text or subject: the default for the kind
};

// Is it a report of RFC 6533, to be sent as an SMTPUTF8 message? Only if the recipient of the report can read it: its
// own address is not ASCII, or its message was SMTPUTF8 and the report shows a non-ASCII address. Otherwise addresses
// are shown in the ASCII form of that RFC. (The returned message has a UTF-8 type if its header has UTF-8, in either
// form: that needs no SMTPUTF8 on the way.)
bool needs_smtputf8(const Report& report);

// "<…@host>": the report's own.
std::string message_id(const Report& report);

// The whole report: header fields (null reverse-path is the caller's envelope), parts, closing boundary.
std::string compose(const Report& report);

} // namespace smtp::dsn
