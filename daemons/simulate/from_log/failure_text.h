// Parses the texts in which Postfix's and Postrider's SMTP clients log a failed attempt into the terms of a scenario:
// which host, how it failed, at which SMTP stage. Knows no message and no time. Pure; accepts any bytes.
#pragma once
#include "daemons/simulate/from_log/log_line.h"
#include "daemons/simulate/scenario/scenario.h"
#include <optional>
#include <string>
#include <string_view>

namespace postrider::simulate::from_log {

struct Failure {
    FaultKind kind = FaultKind::refuses; // never FaultKind::slow
    smtp::Stage at = smtp::Stage::connect;
    Reply reply;               // of FaultKind::replies
    std::optional<Relay> host; // as named in the text
    bool greylisting = false;  // a temporary reply that mentions greylisting
    bool unknown_user = false; // a permanent 5.1.x reply to RCPT
};

// "host mx.example.org[192.0.2.1] said: 450 4.2.0 … (in reply to RCPT TO command)" and similar texts. nullopt: the
// text reports no failure of a remote host, or one that a scenario cannot express.
std::optional<Failure> parse_failure(std::string_view text);
// The message was not attempted; the text repeats an earlier failure.
bool is_suspended(std::string_view text);

} // namespace postrider::simulate::from_log
