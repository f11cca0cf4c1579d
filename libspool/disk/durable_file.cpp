#include "libspool/disk/durable_file.h"
#include <cerrno>

namespace spool {

namespace {

Result<> sync_directory_of(Disk& disk, const std::string& path) {
    const auto slash = path.rfind('/');
    return disk.sync(TRY(disk.open(slash == std::string::npos ? "." : path.substr(0, slash), Open::directory)));
}

} // namespace

Result<> replace_durably(Disk& disk, const std::string& path, std::string_view content) {
    const auto fresh = path + ".new";
    {
        const File file = TRY(disk.open(fresh, Open::upsert));
        TRY(disk.truncate(file, 0));
        TRY(disk.write(file, 0, {&content, 1}));
        TRY(disk.sync(file));
    }
    TRY(disk.rename(fresh, path));
    return sync_directory_of(disk, path);
}

Result<> remove_durably(Disk& disk, const std::string& path) {
    if (auto gone = disk.unlink(path); !gone && gone.error().code != ENOENT) return gone;
    return sync_directory_of(disk, path);
}

} // namespace spool
