// What smtpd and pickup report of clients, as events of the journal. Best effort: beyond a bound they are only counted.
// Knows events and their members; decides nothing.
#pragma once
#include "daemons/common/proto/submission.h"
#include "daemons/queue-manager/journal/journal.h"
#include <cstdint>

namespace queue_manager {

class DoorEvents {
public:
    explicit DoorEvents(Journal& journal) : journal_(journal) {} // outlives it
    DoorEvents(const DoorEvents&) = delete;

    void record(const proto::submission::DoorEvent& event);
    void record(const proto::submission::DoorEventsLost& lost);

private:
    void record_gap(std::uint64_t count, std::string_view why);

    Journal& journal_;
    std::uint64_t lost_ = 0; // more than the journal could take, and not recorded yet
};

} // namespace queue_manager
