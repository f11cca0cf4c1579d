// sendmail -bs: SMTP on standard input and output, one message after the other handed over as any other
// submission; also while the mail system is down. The client is a user of this host and may send anywhere.
#pragma once
#include "daemons/common/commands/effective_config.h"
#include <string>

namespace sendmail {

// Until QUIT or the end of the input; an exit status.
int serve_smtp(const common::EffectiveConfig& config);

} // namespace sendmail
