// The messages and recipients named at the end of a journal: what a queue-manager that starts needs to know of what its
// predecessor has written. Knows how the writer's lines begin; a value.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace spool::journal {

struct Tail {
    std::unordered_set<QueueId> accepted, finished;
    std::unordered_set<std::uint64_t> ended; // hashes of a message and a recipient that came to an end
    std::string since;                       // time of the first line, as written; "" there is none

    // Adds what a whole line says; one after the other.
    void add(std::string_view line);
    // Adds what comes before.
    void add_older(Tail&& older);
    bool has_end(QueueId id, std::string_view recipient) const;
    // What happened at that time should be in here.
    bool covers(smtp::WallTime at) const;
};

} // namespace spool::journal
