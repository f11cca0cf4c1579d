#include "libspool/disk/file_system.h"
#include <array>
#include <cstdio>
#include <sys/vfs.h>

namespace spool {

namespace {
struct Known {
    std::uint64_t magic;
    const char* name;
    Durability durability;
};
constexpr std::array known{
    Known{0xEF53, "ext4", Durability::tested},
    Known{0x58465342, "xfs", Durability::tested},
    Known{0x9123683E, "btrfs", Durability::tested},
    Known{0xF2F52010, "f2fs", Durability::likely},
    Known{0x2FC12FC1, "zfs", Durability::likely},
    Known{0x3153464A, "jfs", Durability::likely},
    Known{0xCA451A4E, "bcachefs", Durability::likely},
    Known{0x6969, "nfs", Durability::weak},
    Known{0xFF534D42, "cifs", Durability::weak},
    Known{0xFE534D42, "smb2", Durability::weak},
    Known{0x517B, "smb", Durability::weak},
    Known{0x00C36400, "ceph", Durability::weak},
    Known{0x01021997, "9p", Durability::weak},
    Known{0x65735546, "fuse", Durability::weak},
    Known{0x794C7630, "overlayfs", Durability::weak},
    Known{0x5346414F, "afs", Durability::weak},
    Known{0x4D44, "vfat", Durability::weak},
    Known{0x01021994, "tmpfs", Durability::none},
    Known{0x858458F6, "ramfs", Durability::none},
};

std::string warning_for(const std::string& name, Durability durability) {
    switch (durability) {
    case Durability::tested:
    case Durability::likely: return {};
    case Durability::weak:
        return "the spool lies on " + name +
               ", a network, layered or simple file system: what is reported as written may still be lost in "
               "a "
               "power cut; keep it on a local ext4, xfs or btrfs";
    case Durability::none:
        return "the spool lies on " + name + ", in memory: all queued mail is lost when this machine stops";
    }
    return {};
}
} // namespace

FileSystem file_system_of(std::uint64_t magic) {
    for (const auto& one : known)
        if (one.magic == magic) return {one.name, one.durability, warning_for(one.name, one.durability)};
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(magic));
    return {text, Durability::likely, {}};
}

Result<FileSystem> file_system_at(int directory_descriptor) {
    struct statfs st;
    if (::fstatfs(directory_descriptor, &st) != 0) return std::unexpected(Error::from_errno("examine the file system"));
    // Some are negative as a signed 32-bit number.
    return file_system_of(static_cast<std::uint32_t>(st.f_type));
}

} // namespace spool
