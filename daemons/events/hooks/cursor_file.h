// A hook's cursor on disk: history/cursors/NAME, how far the hook has come (libspool/FORMAT.md). Blocking.
#pragma once
#include "daemons/decide/hooks/hook_progress.h"
#include "libspool/disk/disk.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace events {

inline constexpr const char* cursors_directory = "cursors";

// A file with a larger one is damaged: numbers of events stay far below this, and sums with them do not overflow.
inline constexpr std::uint64_t largest_event_number = 1ull << 62;

std::string encode(const decide::hooks::HookProgress& progress);
// Nothing: it is no cursor of a version that is known.
std::optional<decide::hooks::HookProgress> decode_progress(std::string_view text);

// What is in a file is in it as a whole after a power cut, too. The disk is that of the journal's directory.
spool::Result<> save_progress(spool::Disk& disk, const std::string& hook, const decide::hooks::HookProgress& progress);

struct LoadedProgress {
    std::optional<decide::hooks::HookProgress> progress; // nothing: there is no file, or it is damaged
    bool damaged = false;
};
spool::Result<LoadedProgress> load_progress(spool::Disk& disk, const std::string& hook);

} // namespace events
