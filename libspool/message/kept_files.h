// Reused files that stay open between the messages in them: the next reader saves opening and closing one. Each is lent
// to one reader at a time, for a lock belongs to the open file, and two readers may end at different times. Knows names
// and open files; what is in a file by now is the reader's business. For one thread, unless it keeps none.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/queue_id.h"
#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

namespace spool {

class KeptFiles {
public:
    // `most`: that are kept; 0: none. `disk` must outlive it.
    KeptFiles(Disk& disk, std::size_t most) : disk_(disk), most_(most) {}
    KeptFiles(const KeptFiles&) = delete;

    Disk& disk() { return disk_; }
    // The file of that name, not locked; empty if it is not kept. The name may have gone meanwhile.
    File take(QueueId name);
    // Unlocks it, and keeps it in the place of the one that was given back longest ago.
    void give_back(QueueId name, File file);
    // No reader is expected soon: closes all of them.
    void clear();
    std::size_t size() const { return places_.size(); }

private:
    Disk& disk_;
    const std::size_t most_;
    using Kept = std::list<std::pair<QueueId, File>>; // in the order in which they were given back
    Kept files_;
    std::unordered_map<QueueId, Kept::iterator> places_;
};

// The open file of a reader: given back at its end, if it came from there, else closed.
class LentFile {
public:
    LentFile() = default;
    LentFile(File file) : file_(std::move(file)) {}
    LentFile(LentFile&& other) noexcept { *this = std::move(other); }
    LentFile& operator=(LentFile&& other) noexcept {
        std::swap(file_, other.file_);
        std::swap(name_, other.name_);
        std::swap(owner_, other.owner_);
        return *this;
    }
    ~LentFile() {
        if (owner_) owner_->give_back(name_, std::move(file_));
    }

    operator const File&() const { return file_; }
    // `owner` must outlive it.
    void belongs_to(KeptFiles& owner, QueueId name) {
        owner_ = &owner;
        name_ = name;
    }

private:
    File file_;
    QueueId name_;
    KeptFiles* owner_ = nullptr; // null: it is closed
};

} // namespace spool
