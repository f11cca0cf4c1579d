#include "daemons/postrider/history/journal_follow.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/output.h"
#include "libspool/journal/segments/journal_cursor.h"
#include <chrono>
#include <cstdio>
#include <poll.h>
#include <unistd.h>

namespace postrider {

namespace {

// Waits a quarter of a second, in which the queue-manager publishes what it has synced. False: the reader of standard
// output has gone.
bool wait_for_more() {
    constexpr int milliseconds = 250;
    pollfd out{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    if (::poll(&out, 1, milliseconds) <= 0) return true;
    return (out.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

} // namespace

int follow_journal(const JournalLocation& journal, std::uint64_t from,
                   const std::function<void(const spool::JournalLine&)>& print) {
    spool::JournalCursor cursor(*journal.disk, JournalLocation::directory, from);
    for (;;) {
        const auto through = journal.through(false);
        if (!through) return report_journal_error(journal, through.error());
        for (bool more = true; more;) {
            const auto read = cursor.read(*through, print,
                                          [&](const spool::Damage& damage) { print_error(text_of(journal, damage)); });
            if (!read) return report_journal_error(journal, read.error());
            more = *read;
        }
        if (std::fflush(stdout) != 0) return ok;
        if (!wait_for_more()) return ok;
    }
}

} // namespace postrider
