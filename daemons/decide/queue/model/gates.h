// What stands open or closed for everything: the operator's gates, and which services can be asked. Plain data.
#pragma once
#include "daemons/decide/queue/model/model.h"
#include <functional>
#include <set>
#include <string>

namespace decide::queue {

struct Gates {
    using Names = std::set<std::string, std::less<>>;
    bool everything = false;    // is paused
    Names links, queues, pools; // that are paused, known here or not
    Seconds last_wait_end = 1;  // the last wait of our own doing that everything shared ended
};

struct Services { // which are there
    bool categorizer = true, router = true, bounce = true;
};

} // namespace decide::queue
