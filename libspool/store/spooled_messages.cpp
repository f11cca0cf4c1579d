#include "libspool/store/spooled_messages.h"
#include "libspool/message/message_reader.h"
#include <cerrno>
#include <string>

namespace spool {

namespace {

void add(Disk& disk, const std::string& directory, const std::string& name, Location location,
         std::vector<SpooledMessage>& found) {
    if (const auto file = reused_file_named(name)) {
        const auto message = MessageReader::open_path(disk, directory + '/' + name);
        if (message) found.push_back({message->queue_id(), {location, *file}});
    } else if (const auto id = QueueId::parse(name); id && id->text() == name) {
        found.push_back({*id, location});
    }
}

} // namespace

Result<std::vector<SpooledMessage>> list_spooled_messages(Disk& disk) {
    std::vector<SpooledMessage> found;
    // Messages move from incoming/ to messages/.
    for (const auto location : {Location::incoming, Location::messages}) {
        const std::string root = location == Location::incoming ? "incoming" : "messages";
        for (const auto& name : TRY(disk.list(root))) {
            const auto directory = root + '/' + name;
            const auto files = disk.list(directory);
            if (!files && (files.error().code == ENOENT || files.error().code == ENOTDIR)) continue;
            if (!files) return std::unexpected(files.error());
            for (const auto& file : *files) add(disk, directory, file, location, found);
        }
    }
    return found;
}

} // namespace spool
