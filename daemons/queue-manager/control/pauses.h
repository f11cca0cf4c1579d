// What the operator has paused, with who and why, and the file that remembers it over restarts (FORMAT.md).
// Values and bytes; who must wait for the disk is the caller's affair.
#pragma once
#include "daemons/decide/queue/events.h"
#include "libspool/disk/disk.h"
#include "libspool/format/fields.h"
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

struct Pause {
    decide::queue::Scope scope = decide::queue::Scope::everything;
    std::string name; // of the queue, link or pool; "" for everything
    std::string who, why;
    smtp::WallTime since{};
    static void fields(auto& m, auto& f) {
        f(1, m.scope);
        f(2, m.name);
        f(3, m.who);
        f(4, m.why);
        f(5, m.since);
    }
    bool operator==(const Pause&) const = default;
};

using Pauses = std::vector<Pause>;

const Pause* find(const Pauses& pauses, decide::queue::Scope scope, std::string_view name);

// Durable when it returns: a new file beside the old, synced, renamed, the directory synced.
spool::Result<> save(spool::Disk& disk, const Pauses& pauses);
// No file: nothing is paused. A file that is not whole is an Error.
spool::Result<Pauses> load_pauses(spool::Disk& disk);

// "queue", "link" …, as commands and answers write it.
std::string_view word_of(decide::queue::Scope scope);
std::optional<decide::queue::Scope> scope_of(std::string_view word);

} // namespace queue_manager
