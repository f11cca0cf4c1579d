// Copies of mail that the configuration asks for: further recipients, added where a message is accepted. A
// copy shows in no header, is never reported on to the sender, goes to nobody who has the message anyway, and
// is not itself copied. Pure: rules and an envelope in, the envelope changed.
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
