// A drain: that this node is being emptied, to where, and how far it has come; and the file that remembers it over
// restarts (FORMAT.md). Values and bytes; who must wait for the disk is the caller's affair.
#pragma once
#include "daemons/decide/queue/events.h"
#include "libspool/disk/disk.h"
#include "libspool/format/fields.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace queue_manager {

struct DrainTarget {
    std::string node;
    std::uint64_t moved = 0;  // messages
    std::uint64_t failed = 0; // transfers that ended without one
    static void fields(auto& m, auto& f) {
        f(1, m.node);
        f(2, m.moved);
        f(3, m.failed);
    }
    bool operator==(const DrainTarget&) const = default;
};

struct DrainState {
    std::vector<DrainTarget> targets;
    std::vector<std::string> filter; // words; never empty
    std::uint32_t rate = 0;          // messages per second; 0: no limit
    std::string who, why;
    smtp::WallTime since{};
    static void fields(auto& m, auto& f) {
        f(1, m.targets);
        f(2, m.filter);
        f(3, m.rate);
        f(4, m.who);
        f(5, m.why);
        f(6, m.since);
    }
    bool operator==(const DrainState&) const = default;
};

// Durable when it returns. Nothing: there is none any longer.
spool::Result<> save_drain(spool::Disk& disk, const std::optional<DrainState>& drain);
// Nothing: there is none. A file that is not whole is an Error.
spool::Result<std::optional<DrainState>> load_drain(spool::Disk& disk);

} // namespace queue_manager
