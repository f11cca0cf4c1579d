// The messages named at the end of a journal: what a queue-manager that starts needs to know of what its predecessor
// has written. Knows how the writer's lines begin; a value.
#pragma once
#include "libspool/format/queue_id.h"
#include <string_view>
#include <unordered_set>

namespace spool::journal {

struct Tail {
    std::unordered_set<QueueId> accepted, finished;

    // Adds what a whole line says.
    void add(std::string_view line);
};

} // namespace spool::journal
