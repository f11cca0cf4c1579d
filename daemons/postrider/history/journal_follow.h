// Prints what is written to the journal as it becomes durable, until the command is ended or its output is closed.
#pragma once
#include "daemons/postrider/history/journal_location.h"
#include "libspool/journal/journal_line.h"
#include <functional>

namespace postrider {

// From event `from` on. `print` writes to standard output. Returns the exit status, if it ever does.
int follow_journal(const JournalLocation& journal, std::uint64_t from,
                   const std::function<void(const spool::JournalLine&)>& print);

} // namespace postrider
