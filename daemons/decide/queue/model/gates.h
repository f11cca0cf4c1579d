// What stands open or closed for everything: the operator's gates, and which services can be asked. Plain data.
#pragma once
#include "daemons/decide/queue/model/model.h"
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace decide::queue {

struct Gates {
    using Names = std::set<std::string, std::less<>>;
    bool everything = false;    // is paused
    Names links, queues, pools; // that are paused, known here or not
    Seconds last_wait_end = 1;  // the last wait of our own doing that everything shared ended

    // When each was closed, for at most that many names; of others nothing is known.
    using Closings = std::map<std::string, ClosedTimes, std::less<>>;
    static constexpr std::size_t most_closings = 1000;
    ClosedTimes closings; // of everything
    Closings link_closings, queue_closings, pool_closings;
    static void note(Closings& of, std::string_view name, bool closed, Seconds now) {
        auto known = of.find(name);
        if (known == of.end()) {
            if (of.size() >= most_closings) return;
            known = of.emplace(name, ClosedTimes()).first;
        }
        known->second.set(closed, now);
    }
};

struct Services { // which are there
    bool categorizer = true, router = true, bounce = true;
};

} // namespace decide::queue
