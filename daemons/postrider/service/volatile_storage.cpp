#include "daemons/postrider/service/volatile_storage.h"
#include <cerrno>
#include <filesystem>
#include <linux/magic.h>
#include <sys/vfs.h>

namespace postrider {

std::string_view volatile_storage_of(const std::string& directory) {
    struct statfs found{};
    auto path = std::filesystem::absolute(directory);
    while (::statfs(path.c_str(), &found) != 0) {
        if (errno != ENOENT || path == path.parent_path()) return "";
        path = path.parent_path();
    }
    switch (static_cast<unsigned long>(found.f_type)) {
    case TMPFS_MAGIC: return "tmpfs";
    case RAMFS_MAGIC: return "ramfs";
    case OVERLAYFS_SUPER_MAGIC: return "overlay";
    default: return "";
    }
}

} // namespace postrider
