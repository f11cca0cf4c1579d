#include "daemons/queue-manager/journal/journal_files.h"
#include "daemons/common/runtime/random.h"
#include <utility>

namespace queue_manager {

spool::Result<JournalFiles::Opened> JournalFiles::open() {
    spool::Disk* disk = &spool_;
    std::string path = "history";
    if (!settings_.directory.empty()) {
        own_ = TRY(spool::RealDisk::open_at(settings_.directory));
        disk = own_.get();
        path = ".";
    }
    // The secret first: it is there when the journal's identity is.
    TRY(disk->make_directory(path, 0700));
    Opened opened;
    auto secret = TRY(history::read_address_secret(*disk, path));
    if (!secret && settings_.addresses == config::RecordedAddresses::hashed)
        secret = TRY(history::make_address_secret(*disk, path, common::random_bytes(history::address_secret_size)));
    if (secret) opened.hash.emplace(*std::move(secret));
    auto directory = std::make_unique<spool::journal::Directory>(*disk, std::move(path));
    opened.beginning = TRY(directory->look(common::random_bytes(16)));
    directory_ = std::move(directory);
    writer_ = std::make_unique<spool::journal::Writer>(*disk, *directory_);
    return opened;
}

} // namespace queue_manager
