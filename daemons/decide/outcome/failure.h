// Whose failure is it, and for how long? From the stage of the conversation and the reply's code, never from
// human text. Pure: knows QUEUEING's table of kinds, nothing of queues or connections.
#pragma once
#include "libsmtp/delivery/stage.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace decide {

enum class FailureKind : std::uint8_t {
    connection, // of this address: try the next one; all exhausted: the link failed
    policy,     // of the domain (TLS required and missing): its queue failed, the link did not
    message,    // this message on this queue
    recipient,  // this recipient alone
};

enum class Severity : std::uint8_t { temporary, permanent };

struct Failure {
    FailureKind kind = FailureKind::message;
    Severity severity = Severity::temporary;
    bool push_back = false;   // 421 4.7.x: against our address; fewer connections, and no tour of the other hosts
    bool credentials = false; // they are not good: every host would say so, and may lock the account

    // Another address may do better, with the same message.
    bool next_host() const { return kind == FailureKind::connection && !push_back && !credentials; }
    bool operator==(const Failure&) const = default;
};

struct Observation {
    smtp::Stage stage = smtp::Stage::none;
    int code = 0;            // reply code; 0: network, time, garbage, or a decision of our own
    std::string_view status; // enhanced status, the server's or our own; may be empty
    // After the final dot every recipient gets a reply of its own (LMTP): a refusal there is that recipient's.
    bool reply_per_recipient = false;
};

// A route's own reading of a reply: "550 5.7.1 at MAIL is temporary". The enhanced status may be left out.
struct ReplyRule {
    int code = 0;
    std::string status; // "" any
    smtp::Stage stage = smtp::Stage::mail;
    Severity severity = Severity::temporary;

    // Stages: MAIL, RCPT, DATA, END (after the final dot).
    static std::optional<ReplyRule> parse(std::string_view text);
    std::string to_string() const;
    bool covers(const Observation& seen) const;
    bool operator==(const ReplyRule&) const = default;
};

// The first of them that covers a refusal (4xx, 5xx); null: none does.
const ReplyRule* rule_for(std::span<const ReplyRule> rules, const Observation& seen);
// What the rules say of a reply: the first that covers it. A refusal (4xx, 5xx) only. Nothing: the usual
// reading; 503 to MAIL is temporary unless a rule says otherwise.
std::optional<Severity> reading(std::span<const ReplyRule> rules, const Observation& seen);
// The enhanced status with the class of that severity: "5.7.1" read as temporary is "4.7.1".
std::string status_as(std::string status, Severity severity);

// Hung up or fell silent at or after DATA: it may be what kills the conversation.
bool dropped(const Observation& seen);

Failure classify(const Observation& seen);

} // namespace decide
