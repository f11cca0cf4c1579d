#include "daemons/common/lookup/aliases/include_file.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>
#include <vector>

namespace common {

std::string owner_name(uid_t uid) {
    if (uid == 0) return "";
    std::vector<char> space(16384);
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(uid, &entry, space.data(), space.size(), &found);
    return found ? found->pw_name : "";
}

std::expected<IncludeFile, std::string> IncludeFile::open(const std::string& path) {
    IncludeFile out;
    out.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!out.fd || ::fstat(out.fd.number(), &out.facts) != 0) return std::unexpected(std::strerror(errno));
    if (!S_ISREG(out.facts.st_mode)) return std::unexpected("not a plain file");
    if ((out.facts.st_mode & S_IWOTH) != 0) return std::unexpected("writable by others: chmod o-w");
    return out;
}

std::expected<std::string, std::string> IncludeFile::read() const {
    std::string text;
    char block[65536];
    for (;;) {
        const auto n = ::read(fd.number(), block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(std::strerror(errno));
        if (n == 0) return text;
        text.append(block, static_cast<std::size_t>(n));
        if (text.size() > largest) return std::unexpected("larger than 8 MiB");
    }
}

} // namespace common
