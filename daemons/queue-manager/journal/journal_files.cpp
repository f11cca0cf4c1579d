#include "daemons/queue-manager/journal/journal_files.h"
#include "daemons/common/runtime/random.h"
#include <utility>

namespace queue_manager {

spool::Result<spool::journal::Beginning> JournalFiles::open() {
    spool::Disk* disk = &spool_;
    std::string path = "history";
    if (!configured_.empty()) {
        own_ = TRY(spool::RealDisk::open_at(configured_));
        disk = own_.get();
        path = ".";
    }
    auto directory = std::make_unique<spool::journal::Directory>(*disk, std::move(path));
    auto beginning = TRY(directory->look(common::random_bytes(16)));
    directory_ = std::move(directory);
    writer_ = std::make_unique<spool::journal::Writer>(*disk, *directory_);
    return beginning;
}

} // namespace queue_manager
