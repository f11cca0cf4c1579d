// What a hook does with files, gathered for one thread at a time: its cursor, its dead letters, and reading the
// journal. Blocking.
#pragma once
#include "daemons/events/hooks/cursor_file.h"
#include "daemons/events/hooks/dead_letters.h"
#include "daemons/events/hooks/event_reader.h"
#include "libspool/disk/real_disk.h"
#include <memory>
#include <mutex>
#include <string>

namespace events {

class HookFiles {
public:
    // `dead`: held while a file in dead/ is written; others replace them.
    HookFiles(std::string hook, std::shared_ptr<spool::RealDisk> disk, std::shared_ptr<std::mutex> dead,
              EventSelection selection, std::string node)
        : hook_(std::move(hook)), disk_(std::move(disk)), dead_(std::move(dead)),
          reader_(*disk_, std::move(selection), std::move(node)) {}

    spool::Result<LoadedProgress> load() { return load_progress(*disk_, hook_); }
    spool::Result<> save(const decide::hooks::HookProgress& progress) { return save_progress(*disk_, hook_, progress); }
    spool::Result<> add(const DeadLetter& letter) {
        const std::lock_guard lock(*dead_);
        return append_dead_letter(*disk_, hook_, letter);
    }
    spool::Result<ReadEvents> read(std::uint64_t from, std::uint64_t through, const std::string& time) {
        return reader_.read(from, through, time);
    }

private:
    std::string hook_;
    std::shared_ptr<spool::RealDisk> disk_;
    std::shared_ptr<std::mutex> dead_;
    EventReader reader_;
};

} // namespace events
