// sendmail -bs: SMTP on standard input and output, one message after the other handed over as any other
// submission; also while the mail system is down. Whoever speaks is a user of this host and may send where he
// likes.
#pragma once
#include "daemons/common/config/config.h"
#include <string>

namespace sendmail {

// Until QUIT or the end of the input; an exit status.
int speak_smtp(const config::Config& config);

} // namespace sendmail
