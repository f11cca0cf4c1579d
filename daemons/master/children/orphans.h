// Processes whose parents have ended become children of process 1 of their container, which is master there. They are
// of no interest, but stay in the process table until their parent has asked for their status.
#pragma once
#include <functional>
#include <sys/types.h>

namespace master {

// Takes the status of all children that have ended, up to the first of which `is_ours` is true: its own end is handled
// elsewhere. Does nothing unless this is process 1.
void reap_orphans(const std::function<bool(pid_t)>& is_ours);

} // namespace master
