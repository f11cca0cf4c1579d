// message hold … priority, pause, resume, force: the commands that change queued mail or stop its delivery.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int message_hold(const Arguments&);
int message_release(const Arguments&);
int message_remove(const Arguments&);
int message_restore(const Arguments&);
int message_requeue(const Arguments&);
int message_retry(const Arguments&);
int message_reroute(const Arguments&);
int message_expire(const Arguments&);
int message_priority(const Arguments&);
int message_move(const Arguments&);
int message_schedule(const Arguments&);
int pause(const Arguments&);
int resume(const Arguments&);
int force(const Arguments&);

} // namespace postrider
