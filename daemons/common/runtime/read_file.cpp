#include "daemons/common/runtime/read_file.h"
#include "daemons/common/runtime/fd.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace common {

spool::Result<std::string> read_file(const std::string& path) {
    auto text = read_bounded(path, std::size_t{1} << 30);
    if (!text) return std::unexpected(spool::Error::from_errno("read " + path, text.error()));
    return *std::move(text);
}

std::expected<std::string, int> read_bounded(const std::string& path, std::size_t most) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return std::unexpected(errno);
    std::string text;
    std::size_t have = 0;
    for (;;) {
        if (have == text.size()) text.resize(std::max<std::size_t>(64 * 1024, have * 2));
        const auto n = ::read(fd.number(), text.data() + have, text.size() - have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(errno);
        if (n == 0) break;
        have += static_cast<std::size_t>(n);
        if (have > most) return std::unexpected(EFBIG);
    }
    text.resize(have);
    return text;
}

spool::Result<std::string> read_private_file(const std::string& path, uid_t user) {
    using spool::Error;
    constexpr std::size_t most = 4 * 1024 * 1024;
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat facts;
    if (!file || ::fstat(file.number(), &facts) != 0) return std::unexpected(Error::from_errno("read " + path));
    if (!S_ISREG(facts.st_mode)) return std::unexpected(Error{0, path + " is not a regular file"});
    if (facts.st_uid != 0 && facts.st_uid != user)
        return std::unexpected(
            Error{0, fmt::format("{} belongs to user {}, expected root or the MTA's user: \"chown root {}\" fixes "
                                 "this",
                                 path, facts.st_uid, path)});
    if ((facts.st_mode & 077) != 0)
        return std::unexpected(
            Error{0, fmt::format("{} contains secrets and is accessible to other users (mode {:04o}): "
                                 "\"chmod 600 {}\" fixes this",
                                 path, facts.st_mode & 07777, path)});
    if (static_cast<std::size_t>(facts.st_size) > most) return std::unexpected(Error{0, path + " is too large"});
    std::string text(static_cast<std::size_t>(facts.st_size), '\0');
    const auto n = ::read(file.number(), text.data(), text.size());
    if (n < 0) return std::unexpected(Error::from_errno("read " + path));
    text.resize(static_cast<std::size_t>(n));
    return text;
}

} // namespace common
