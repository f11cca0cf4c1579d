#include "daemons/local/mailbox/files.h"
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace local {

using common::Fd;
using spool::Error;
using spool::Result;

std::string parent_of(const std::string& path) {
    const std::size_t end = path.find_last_not_of('/');
    const std::size_t slash = end == path.npos ? path.npos : path.rfind('/', end);
    if (slash == path.npos) return path.starts_with('/') ? "/" : ".";
    const std::size_t last = path.find_last_not_of('/', slash);
    return last == path.npos ? "/" : path.substr(0, last + 1);
}

Result<> sync_directory(const std::string& path) {
    const Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || fsync(fd.number()) != 0) return std::unexpected(Error::from_errno("sync " + path));
    return {};
}

Result<Fd> open_or_make_directory(const std::string& path) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Fd fd(open(path.c_str(), flags));
    if (fd) return fd;
    if (errno != ENOENT) return std::unexpected(Error::from_errno("open " + path));
    const std::string parent = parent_of(path);
    struct stat there;
    if (parent != path && stat(parent.c_str(), &there) != 0) TRY(open_or_make_directory(parent));
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        return std::unexpected(Error::from_errno("make directory " + path));
    TRY(sync_directory(parent));
    fd = Fd(open(path.c_str(), flags));
    if (!fd) return std::unexpected(Error::from_errno("open " + path));
    return fd;
}

Result<> check_owner(int fd, std::uint32_t owner, const std::string& path) {
    struct stat found;
    if (fstat(fd, &found) != 0) return std::unexpected(Error::from_errno("examine " + path));
    if (found.st_uid == owner) return {};
    return std::unexpected(Error{EPERM, fmt::format("{} belongs to user {}, not to {}", path, found.st_uid, owner)});
}

Result<> write_all(int fd, std::string_view bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t n = write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(Error::from_errno("write " + path));
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

} // namespace local
