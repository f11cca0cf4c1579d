// Reads the events of one hook from the journal, block by block. What is missing, because it was removed or is damaged,
// becomes an event hook.gap in its place. Blocking; its memory is that of one block.
#pragma once
#include "daemons/decide/hooks/hook_delivery.h"
#include "daemons/events/hooks/event_selection.h"
#include "libspool/journal/segments/journal_cursor.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace events {

struct ReadEvents {
    std::vector<decide::hooks::HookEvent> events;
    std::uint64_t through = 0; // all up to this number are read; 0: nothing new
    std::vector<spool::Damage> damage;
    std::uint64_t gap = 0; // numbers that are missing
};

class EventReader {
public:
    // The disk is that of the journal's directory, and outlives it.
    EventReader(spool::Disk& disk, EventSelection selection, std::string node)
        : disk_(disk), selection_(std::move(selection)), node_(std::move(node)) {}

    // From event `from`, at most up to `through`. Ends when something was selected, or after some blocks. `time`: RFC
    // 3339, for gaps.
    spool::Result<ReadEvents> read(std::uint64_t from, std::uint64_t through, const std::string& time);

private:
    // {"v":1,"seq":TO,…,"type":"hook.gap","from":FROM,"to":TO,"why":WHY}
    void add_gap(ReadEvents& into, std::uint64_t from, std::uint64_t to, const std::string& time,
                 const char* why) const;

    spool::Disk& disk_;
    EventSelection selection_;
    std::string node_;
    std::optional<spool::JournalCursor> cursor_; // at the event to be read next
    bool damaged_ = false;                       // something before the next line
};

} // namespace events
