// Masquerading in the header of one incoming message, as edits. For smtpd and pickup; must not know who sent it.
#pragma once
#include "daemons/common/filters/milter/message.h"
#include "daemons/decide/rewriting/masquerade.h"
#include <string>

namespace common {

// `message` is loaded. Not "": some fields stay as they are, for this reason.
std::string masquerade_header(const decide::MasqueradeRules& rules, const decide::MasqueradeClasses& classes,
                              milter::Message& message);

} // namespace common
