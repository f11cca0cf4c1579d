// Events that an endpoint does not accept: history/dead/NAME.jsonl, one line each (libspool/FORMAT.md). Blocking.
#pragma once
#include "daemons/decide/hooks/hook_delivery.h"
#include "libspool/disk/disk.h"
#include <string>

namespace events {

inline constexpr const char* dead_directory = "dead";
// A file of this size gets no more: its hook is paused instead.
inline constexpr std::uint64_t largest_dead_file = 64 << 20;

struct DeadLetter {
    decide::hooks::HookEvent event;
    std::string reason, time; // RFC 3339
};

// {"time":…,"reason":…,"event":{…}}
std::string encode(const DeadLetter& letter);
// "shop.jsonl"
std::string dead_file(const std::string& hook);
// It is on stable storage when this returns. The disk is that of the journal's directory. EFBIG: the file is full.
spool::Result<> append_dead_letter(spool::Disk& disk, const std::string& hook, const DeadLetter& letter);

} // namespace events
