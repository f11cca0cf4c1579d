// postrider hook: what the hooks of the events process do, and what operators have them do.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int hook_list(const Arguments& arguments);
int hook_test(const Arguments& arguments);
int hook_pause(const Arguments& arguments);
int hook_resume(const Arguments& arguments);
int hook_skip(const Arguments& arguments);
int hook_replay(const Arguments& arguments);
// Reads the file of events that were given up; works without any daemon.
int hook_dead(const Arguments& arguments);

} // namespace postrider
