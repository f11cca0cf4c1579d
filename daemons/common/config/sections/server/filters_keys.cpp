// The keys of services that are queried before mail is accepted.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/filters.h"
#include "libsmtp/message/address.h"

namespace config {

using namespace std::chrono_literals;

namespace {

constexpr EnumValue<Stage> stages[] = {{"connect", Stage::connect}, {"helo", Stage::helo},
                                       {"mail", Stage::mail},       {"rcpt", Stage::rcpt},
                                       {"data", Stage::data},       {"end_of_data", Stage::end_of_data}};
constexpr EnumValue<OnFailure> policy_failures[] = {
    {"accept", OnFailure::accept}, {"tempfail", OnFailure::tempfail}, {"reject", OnFailure::reject}};

constexpr EnumValue<OnFailure> milter_failures[] = {{"accept", OnFailure::accept},
                                                    {"tempfail", OnFailure::tempfail},
                                                    {"reject", OnFailure::reject},
                                                    {"quarantine", OnFailure::quarantine}};

Refusal read_address(std::string_view text, std::string& value) {
    const auto mailbox = smtp::Mailbox::parse(text);
    if (!mailbox) return fmt::format("\"{}\" is not a valid address: {}", text, mailbox.error().why);
    value = mailbox->text();
    return std::nullopt;
}

// Lines "pattern address": "ann@example.org archive@example.org", "@example.org archive@example.org".
ListKey copy_rules(std::map<std::string, std::string, std::less<>>& values) {
    return {[&] { values.clear(); },
            [&](std::string_view text) -> Refusal {
                const auto blank = text.find_first_of(" \t");
                const auto rest = blank == text.npos ? blank : text.find_first_not_of(" \t", blank);
                if (rest == text.npos)
                    return fmt::format("\"{}\": expected a sender or recipient, and the address that gets the copy, "
                                       "such as \"ann@example.com archive@example.com\"",
                                       text);
                const auto whose = text.substr(0, blank);
                std::string mailbox, to;
                if (whose.starts_with('@') ? domain_name(whose.substr(1)).empty()
                                           : read_address(whose, mailbox).has_value())
                    return fmt::format("\"{}\" is not a valid address or \"@domain\"", whose);
                if (auto refusal = read_address(text.substr(rest), to)) return refusal;
                if (!values.emplace(smtp::lowered(whose), std::move(to)).second)
                    return fmt::format("\"{}\" is listed twice", whose);
                return std::nullopt;
            },
            [&] {
                std::vector<std::string> shown;
                for (const auto& [whose, to] : values) shown.push_back(whose + " " + to);
                return shown;
            }};
}

constexpr std::string_view about_listeners =
    "Names of the listeners this applies to. The default is all whose service is \"relay\".";

} // namespace

Section section_for(PolicyService& s) {
    return {
        "policy.<name>",
        "A policy server (postgrey, policyd-spf and others that use Postfix's policy delegation protocol), queried "
        "about clients that are not in relay.networks. Several servers are queried in the order of their names, "
        "until one rejects.",
        {
            {"address", service_address(s.address), "Address of the server.", "\"inet:127.0.0.1:10023\""},
            {"stage", one_of(s.stage, stages),
             "Stage at which the server is queried: \"connect\", \"helo\", \"mail\", \"rcpt\" (for each recipient), "
             "\"data\" or \"end_of_data\".",
             ""},
            {"timeout", DurationKey{&s.timeout, 100ms, 10min}, "Time limit for the server's reply.", ""},
            {"busy_timeout", DurationKey{&s.busy_timeout, 100ms, 10min},
             "Time limit for the server's reply while all connections are in use and further requests wait: requests "
             "that the server does not answer delay others for at most this time.",
             ""},
            {"on_failure", one_of(s.on_failure, policy_failures),
             "What happens if there is no reply: \"accept\" continues without it, \"tempfail\" replies 451 4.3.5, "
             "\"reject\" replies 554 5.3.5.",
             ""},
            {"connections", IntKey{&s.connections, 1, 10'000},
             "Maximum number of simultaneous requests, per process; further ones wait.", ""},
            {"listeners", non_empty_texts(s.listeners), about_listeners, "[\"smtp\"]"},
        }};
}

Section section_for(Milter& s) {
    return {
        "milter.<name>",
        "A mail filter (rspamd, opendkim, clamav-milter and others that use the milter protocol). Several filters "
        "are called in the order of their names; each sees what those before it have changed.",
        {
            {"address", service_address(s.address), "Address of the filter.", "\"unix:/run/opendkim/opendkim.sock\""},
            {"connect_timeout", DurationKey{&s.connect_timeout, 100ms, 1h},
             "Time limit for connecting to the filter and negotiating what it wants to see.", ""},
            {"timeout", DurationKey{&s.timeout, 100ms, 1h},
             "Time limit for the filter's reply to each step except end of message.", ""},
            {"message_timeout", DurationKey{&s.message_timeout, 100ms, 1h},
             "Time limit for the filter's reply to the end of a message.", ""},
            {"on_failure", one_of(s.on_failure, milter_failures),
             "What happens to mail if the filter cannot be reached, does not reply in time, or sends an invalid "
             "reply: \"accept\" continues without it, \"tempfail\" replies 451 4.7.1, \"reject\" replies 550 5.7.1, "
             "\"quarantine\" accepts the mail and holds it. Changes the filter has made to the message by then are "
             "discarded.",
             ""},
            {"listeners", non_empty_texts(s.listeners),
             "Names of the listeners whose mail the filter sees. The default is all of them. \"local\" stands for "
             "mail from programs on this host (sendmail), which the filter sees only if \"local\" is listed. For the "
             "filter, such mail comes from localhost [127.0.0.1].",
             "[\"smtp\", \"local\"]"},
        }};
}

Section section_for(Content& s) {
    return {"content",
            "Checks of every message that is received, over SMTP or from a program on this host. This system's own "
            "reports are not checked.",
            {
                {"header_checks", check_rules(s.header_checks, CheckedPart::header),
                 "Regular expressions (Perl-compatible) for the fields of the header, one rule per string: a pattern "
                 "between two equal characters, flags, an action, its text. Rules are tried on each field in order, "
                 "including our own Received field; the first rule that matches a field determines what happens. "
                 "REJECT [text] rejects the message (550 5.7.1, or the enhanced status that the text begins with), "
                 "DISCARD [text] accepts and discards it, HOLD [text] holds it in the queue, REDIRECT address sends "
                 "it to that address instead, FILTER destination sends it through that content filter first "
                 "instead of its listener's content_filter (a host in brackets such as \"[127.0.0.1]:10024\", "
                 "\"smtp:\" or \"lmtp:\" and one, or the name of a [route]; no groups; the last FILTER of a "
                 "message counts), BCC address sends it there as well, WARN [text] and INFO [text] write a log "
                 "line, PREPEND field adds a field before this one, REPLACE field replaces this one, IGNORE "
                 "removes it, STRIP [text] removes it and writes a log line, DUNNO leaves it unchanged. $1 and ${1} in "
                 "the text stand for the pattern's groups. \"!\" before the pattern negates it. Rules between "
                 "\"if /pattern/\" and \"endif\", which are strings of their own, are tried only if that pattern "
                 "matches (with \"if !/pattern/\", if it does not); such blocks may be nested. Flags, as in "
                 "pcre_table(5): i makes the pattern case-sensitive, s keeps \".\" from matching line ends, m, x, A, "
                 "E, U. A folded field is matched with its line ends (LF). The first 64 KiB of a field are examined. "
                 "A pattern that takes too long for a field, or the rules together for a message, are skipped there, "
                 "which is logged, with the rules of its block if it is one of \"if\"; but if one of them rejects, "
                 "discards, holds or filters, the message is deferred (451 4.3.0).",
                 "['/^Subject:.*make money fast/ REJECT no advertisements', '/^X-Mailer:/ IGNORE']"},
                {"mime_header_checks", check_rules(s.mime_header_checks, CheckedPart::header),
                 "The same for the fields of the parts of a message, such as attachments, and for the fields that "
                 "describe content in every header, the message's own and those of attached messages: MIME-Version, "
                 "Content-Type, -Transfer-Encoding, -Disposition, -ID and -Description. If there are such rules, "
                 "neither header_checks nor nested_header_checks are applied to any of these. Encoded and signed "
                 "parts are examined as they were sent, without decoding. A message with a part that cannot be "
                 "examined (nested more than 100 levels deep, a boundary that is missing or longer than 998 bytes, an "
                 "invalid Content-Type or one of more than 64 KiB) is rejected (550 5.6.0) if one of these rules or of "
                 "nested_header_checks rejects, discards, holds, redirects or filters messages.",
                 "['/^Content-(Type|Disposition):.*name=.*\\.exe/ REJECT no programs']"},
                {"nested_header_checks", check_rules(s.nested_header_checks, CheckedPart::header),
                 "The same for the header fields of messages that are attached to a message.",
                 "['/^Subject:.*make money fast/ REJECT no advertisements']"},
                {"body_checks", check_rules(s.body_checks, CheckedPart::body),
                 "The same for the lines of the body, as they were sent, without decoding them; boundaries between "
                 "parts are lines as well. PREPEND adds a line, REPLACE replaces the line, IGNORE and STRIP remove "
                 "it. Lines longer than 1024 bytes are examined and changed in pieces.",
                 "['/^begin [0-7]+ .*\\.exe$/ REJECT no programs']"},
                {"body_checks_size", SizeKey{&s.body_checks_size, 0, GiB},
                 "How much of each part body_checks examines; of the whole message, four times as much.", ""},
            }};
}

Section section_for(AutomaticBcc& s) {
    return {"automatic_bcc",
            "Copies of mail for an archive or a supervisor, added when a message is accepted, over SMTP or from a "
            "program on this host. The message does not show who gets a copy, its sender gets no reports about "
            "copies, and a recipient of the message who would also get a copy gets the message once. This system's "
            "own reports are not copied.",
            {
                {"always",
                 list_of<std::string>(s.always,
                                      [](std::string_view text, std::string& to) { return read_address(text, to); }),
                 "Addresses that get a copy of every message.", "[\"archive@example.com\"]"},
                {"by_sender", copy_rules(s.by_sender),
                 "Copies of mail from an envelope sender: \"ann@example.com boss@example.com\", or for a whole "
                 "domain \"@example.com boss@example.com\". The address takes precedence over the address without "
                 "its extension, and that over the domain.",
                 "[\"ann@example.com boss@example.com\"]"},
                {"by_recipient", copy_rules(s.by_recipient),
                 "Copies of mail to a recipient, in the same form. Recipients added by other rules are not looked "
                 "up.",
                 "[\"@example.com archive@example.com\"]"},
            }};
}

Section section_for(DnsList& s) {
    return {"dns_list.\"<zone>\"",
            "A list in the DNS that contains good or bad client addresses. The weights of all lists that contain a "
            "client are added; if the sum reaches smtpd.dns_list_threshold, its recipients are rejected with 554 "
            "5.7.1. Clients in relay.networks are not looked up, and all clients may send to postmaster.",
            {
                {"weight", IntKey{&s.weight, 1, 1000}, "Weight of this list.", ""},
                {"allow", BoolKey{&s.allow},
                 "Whether the list contains good clients, so that its weight is subtracted.", ""},
                {"answers", networks(s.answers),
                 "Answers that count. Those in 127.255.255.0/24 never count: lists use them to report that they "
                 "refuse to answer.",
                 ""},
                {"listeners", non_empty_texts(s.listeners), about_listeners, "[\"smtp\"]"},
            }};
}

} // namespace config
