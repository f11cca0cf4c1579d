#include "daemons/common/submission/drop_limits.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/replace_file.h"
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace common {

using spool::Error;
using spool::Result;

std::string text_of(const DropLimits& limits) {
    return fmt::format("message_size {}\nminimum_free {}\nminimum_free_inodes {}\nuser_bytes {}\nuser_messages {}\n",
                       limits.message_size, limits.floor.bytes, limits.floor.files, limits.user_bytes,
                       limits.user_messages);
}

DropLimits drop_limits_in(const std::string& text) {
    DropLimits limits;
    const auto read = [&](std::string_view name, auto& into) {
        const auto at = ("\n" + text).find(fmt::format("\n{} ", name));
        if (at == std::string::npos) return;
        const char* begin = text.data() + at + name.size() + 1;
        std::remove_reference_t<decltype(into)> value{};
        const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), value);
        if (failed == std::errc() && end != text.data() + text.size() && *end == '\n') into = value;
    };
    read("message_size", limits.message_size);
    read("minimum_free", limits.floor.bytes);
    read("minimum_free_inodes", limits.floor.files);
    read("user_bytes", limits.user_bytes);
    read("user_messages", limits.user_messages);
    return limits;
}

Result<> publish_drop_limits(const std::string& directory, const DropLimits& limits) {
    return replace_file(directory, drop_limits_file, text_of(limits), {".limits-new", 0644});
}

DropLimits published_drop_limits(int directory) {
    const Fd fd(::openat(directory, drop_limits_file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat file{}, place{};
    if (!fd || ::fstat(fd.number(), &file) != 0 || ::fstat(directory, &place) != 0) return {};
    if (!S_ISREG(file.st_mode) || (file.st_uid != place.st_uid && file.st_uid != 0)) return {};
    std::string text(4096, '\0');
    const auto n = ::pread(fd.number(), text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return drop_limits_in(text);
}

namespace {

struct Share {
    std::uint64_t bytes = 0, messages = 0;
};

Result<Share> share_of(int directory, uid_t user) {
    const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (stream == nullptr) {
        const int code = errno;
        if (fd >= 0) ::close(fd);
        return std::unexpected(Error::from_errno("read the drop directory", code));
    }
    Share share;
    while (const dirent* entry = ::readdir(stream)) {
        struct stat st{};
        if (entry->d_name[0] == '.' || ::fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (st.st_uid != user) continue;
        ++share.messages;
        share.bytes += static_cast<std::uint64_t>(st.st_size);
    }
    ::closedir(stream);
    return share;
}

} // namespace

Result<> room_in_drop(int directory, const DropLimits& limits, uid_t user, std::uint64_t more) {
    struct statvfs disk{};
    if (::fstatvfs(directory, &disk) != 0) return std::unexpected(Error::from_errno("get free space"));
    const spool::Space space{disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize, disk.f_favail, disk.f_files};
    if (spool::check_free_space(space, limits.floor, more) != spool::FreeSpace::enough)
        return std::unexpected(Error{ENOSPC, "the spool's disk is full (spool.minimum_free)"});
    if (user == 0) return {};
    const auto share = TRY(share_of(directory, user));
    if (share.messages > limits.user_messages || share.bytes + more > limits.user_bytes)
        return std::unexpected(
            Error{EDQUOT, fmt::format("{} messages of yours, {} bytes, are already waiting: until it runs, a "
                                      "user may submit {} messages and {} bytes",
                                      share.messages, share.bytes, limits.user_messages, limits.user_bytes)});
    return {};
}

} // namespace common
