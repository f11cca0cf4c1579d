// Copies of mail that the configuration asks for: further recipients, added where a message is accepted. A
// copy shows in no header, is never reported on to the sender, goes to nobody who has the message anyway, and
// is not itself copied. Pure: rules and an envelope in, the envelope changed.
#pragma once
#include "daemons/common/config/config.h"
#include "libspool/format/envelope.h"
#include <string>

namespace common {

// Whether somebody was added.
bool add_automatic_bcc(const config::Config& config, spool::Envelope& envelope);
bool add_bcc_recipient(spool::Envelope& envelope, const std::string& address);

} // namespace common
