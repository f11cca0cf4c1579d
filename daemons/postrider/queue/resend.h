// message resend: messages whose content is kept because they failed for a recipient, sent once more as new ones.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int message_resend(const Arguments& arguments);

} // namespace postrider
