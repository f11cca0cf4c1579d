// Named crash points, for tests that kill a process at each step of a transaction. Compiled only with
// -DPOSTRIDER_KILL_POINTS. POSTRIDER_KILL_POINT=name[:n] kills by SIGKILL at the n-th pass (default the
// first) in the first process that gets there. The hit is appended to the file named by POSTRIDER_KILL_RECORD
// ("name pid"), and a file RECORD.name keeps any other process from being killed again.
#pragma once

#ifdef POSTRIDER_KILL_POINTS
namespace common {
void crash_point(const char* name);
}
#define CRASH_POINT(name) ::common::crash_point(name)
#else
#define CRASH_POINT(name) static_cast<void>(0)
#endif
