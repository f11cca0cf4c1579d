#include "libspool/disk/file_system.h"
#include <array>
#include <cstdio>
#include <sys/vfs.h>

namespace spool {

namespace {
struct Known {
    std::uint64_t magic;
    const char* name;
    Worth worth;
};
constexpr std::array known{
    Known{0xEF53, "ext4", Worth::tested},
    Known{0x58465342, "xfs", Worth::tested},
    Known{0x9123683E, "btrfs", Worth::tested},
    Known{0xF2F52010, "f2fs", Worth::likely},
    Known{0x2FC12FC1, "zfs", Worth::likely},
    Known{0x3153464A, "jfs", Worth::likely},
    Known{0xCA451A4E, "bcachefs", Worth::likely},
    Known{0x6969, "nfs", Worth::weak},
    Known{0xFF534D42, "cifs", Worth::weak},
    Known{0xFE534D42, "smb2", Worth::weak},
    Known{0x517B, "smb", Worth::weak},
    Known{0x00C36400, "ceph", Worth::weak},
    Known{0x01021997, "9p", Worth::weak},
    Known{0x65735546, "fuse", Worth::weak},
    Known{0x794C7630, "overlayfs", Worth::weak},
    Known{0x5346414F, "afs", Worth::weak},
    Known{0x4D44, "vfat", Worth::weak},
    Known{0x01021994, "tmpfs", Worth::none},
    Known{0x858458F6, "ramfs", Worth::none},
};

std::string warning_for(const std::string& name, Worth worth) {
    switch (worth) {
    case Worth::tested:
    case Worth::likely: return {};
    case Worth::weak:
        return "the spool lies on " + name +
               ", a network, layered or simple file system: what is reported as written may still be lost in "
               "a "
               "power cut; keep it on a local ext4, xfs or btrfs";
    case Worth::none:
        return "the spool lies on " + name + ", in memory: all queued mail is lost when this machine stops";
    }
    return {};
}
} // namespace

FileSystem file_system_of(std::uint64_t magic) {
    for (const auto& one : known)
        if (one.magic == magic) return {one.name, one.worth, warning_for(one.name, one.worth)};
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(magic));
    return {text, Worth::likely, {}};
}

Result<FileSystem> file_system_at(int directory_descriptor) {
    struct statfs st;
    if (::fstatfs(directory_descriptor, &st) != 0)
        return std::unexpected(Error::from_errno("look at the file system"));
    // Some are negative as a signed 32-bit number.
    return file_system_of(static_cast<std::uint32_t>(st.f_type));
}

} // namespace spool
