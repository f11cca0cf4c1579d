// What a line of the log says went wrong with a host or a domain, as a scenario says it. Knows the wordings of Postfix's
// and our SMTP client, no message and no time. Pure; any bytes.
#pragma once
#include "daemons/postrider/simulate/from_log/log_line.h"
#include "daemons/postrider/simulate/scenario.h"
#include <optional>
#include <string>
#include <string_view>

namespace postrider::simulate::from_log {

struct Failing {
    Ailment how = Ailment::refuses; // never slow
    smtp::Stage at = smtp::Stage::connect;
    Reply reply;                  // of Ailment::replies
    std::optional<Relay> host;    // that the text names
    bool greylisting = false;     // a refusal for now that says so
    bool unknown_user = false;    // a refusal of the recipient for good
};

// "host mx.example.org[192.0.2.1] said: 450 4.2.0 … (in reply to RCPT TO command)" and the like. Nothing: it tells of no
// failure of another host's, or of none that can be played.
std::optional<Failing> read_failing(std::string_view text);
// It was not tried: what had failed before is said again.
bool is_suspended(std::string_view text);

} // namespace postrider::simulate::from_log
