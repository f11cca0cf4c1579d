// Copies of mail that the configuration requires: further recipients, added where a message is
// accepted. A copy appears in no header, is never reported to the sender, is not made for a recipient
// of the message, and is not itself copied. Pure: rules and an envelope in, the envelope changed.
#pragma once
#include "daemons/common/config/sections/server/filters.h"
#include "libspool/format/envelope.h"
#include <string>

namespace common {

// What a configuration says about it.
struct BccRules {
    config::AutomaticBcc copies;
    std::string recipient_delimiter;
};

// Whether a recipient was added.
bool add_automatic_bcc(const BccRules& rules, spool::Envelope& envelope);
bool add_bcc_recipient(spool::Envelope& envelope, const std::string& address);

} // namespace common
