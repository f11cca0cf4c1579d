// Waiting on the loop for one event, in a command that does one thing after the other.
#pragma once
#include "daemons/common/runtime/loop.h"

namespace postrider::setup {

// What sets `done` must also stop the loop. A stop() from the end of an earlier run ends a run at once: then once more.
inline void run_until(common::Loop& loop, const bool& done) {
    while (!done) loop.run();
}

} // namespace postrider::setup
