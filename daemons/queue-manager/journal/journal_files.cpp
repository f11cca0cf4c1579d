#include "daemons/queue-manager/journal/journal_files.h"
#include <random>
#include <utility>

namespace queue_manager {

namespace {

std::string random_bytes() {
    std::random_device device;
    std::string out;
    while (out.size() < 16) out += static_cast<char>(device());
    return out;
}

} // namespace

spool::Result<spool::journal::Beginning> JournalFiles::open() {
    spool::Disk* disk = &spool_;
    std::string path = "history";
    if (!configured_.empty()) {
        own_ = TRY(spool::RealDisk::open_at(configured_));
        disk = own_.get();
        path = ".";
    }
    auto directory = std::make_unique<spool::journal::Directory>(*disk, std::move(path));
    auto beginning = TRY(directory->look(random_bytes()));
    directory_ = std::move(directory);
    writer_ = std::make_unique<spool::journal::Writer>(*disk, *directory_);
    return beginning;
}

} // namespace queue_manager
