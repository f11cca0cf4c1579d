// queue, link and message list and show, queue ages, message cat, explain: the commands that only read.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int queue_list(const Arguments&);
int queue_show(const Arguments&);
int queue_ages(const Arguments&);
int link_list(const Arguments&);
int link_show(const Arguments&);
int message_list(const Arguments&);
int message_show(const Arguments&);
int message_cat(const Arguments&);
int explain(const Arguments&);

} // namespace postrider
