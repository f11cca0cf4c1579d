// Named places to die at, for tests that kill a process at each hand-off. Compiled only with
// -DPOSTRIDER_KILL_POINTS. POSTRIDER_KILL_POINT=name[:n] dies by SIGKILL at the n-th pass (default the first)
// in whichever process comes there first. The hit is appended to the file named by POSTRIDER_KILL_RECORD
// ("name pid"), and a file RECORD.name keeps any other process from dying of it again.
#pragma once

#ifdef POSTRIDER_KILL_POINTS
namespace common {
void crash_point(const char* name);
}
#define CRASH_POINT(name) ::common::crash_point(name)
#else
#define CRASH_POINT(name) static_cast<void>(0)
#endif
