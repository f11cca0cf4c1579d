#include "daemons/common/runtime/replace_file.h"
#include "daemons/common/runtime/fd.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace common {

using spool::Error;

spool::Result<> replace_file(const std::string& directory, const std::string& name, std::string_view text,
                             const Replacement& how) {
    const auto fresh = fmt::format("{}/{}", directory, how.fresh), path = directory + "/" + name;
    const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!file || ::fchmod(file.number(), how.mode) != 0) return std::unexpected(Error::from_errno("write " + fresh));
    for (auto rest = text; !rest.empty();) {
        const auto written = ::write(file.number(), rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return std::unexpected(Error::from_errno("write " + fresh));
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (std::rename(fresh.c_str(), path.c_str()) != 0) return std::unexpected(Error::from_errno("replace " + path));
    return {};
}

spool::Result<> make_state_directory(const std::string& directory) {
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        return std::unexpected(Error::from_errno("make directory " + directory));
    return {};
}

} // namespace common
