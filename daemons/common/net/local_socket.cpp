#include "daemons/common/net/local_socket.h"
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace common {

namespace {

// A socket address for `path`, and the directory's descriptor if the path is too long.
struct Address {
    sockaddr_un name{};
    Fd directory;
};

spool::Result<Address> address_of(const std::string& path) {
    Address address;
    address.name.sun_family = AF_UNIX;
    std::string text = path;
    if (text.size() >= sizeof address.name.sun_path) {
        const auto slash = path.rfind('/');
        const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
        address.directory = Fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!address.directory) return std::unexpected(spool::Error::from_errno("open " + directory));
        text = fmt::format("/proc/self/fd/{}/{}", address.directory.number(), path.substr(slash + 1));
        if (text.size() >= sizeof address.name.sun_path)
            return std::unexpected(spool::Error::from_errno("socket " + path, ENAMETOOLONG));
    }
    std::memcpy(address.name.sun_path, text.c_str(), text.size() + 1);
    return address;
}

spool::Result<Fd> new_socket() {
    Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return std::unexpected(spool::Error::from_errno("create a local socket"));
    return fd;
}

} // namespace

spool::Result<Fd> connect_local(const std::string& path) {
    auto address = TRY(address_of(path));
    Fd fd = TRY(new_socket());
    if (connect(fd.number(), reinterpret_cast<const sockaddr*>(&address.name), sizeof address.name) != 0)
        return std::unexpected(spool::Error::from_errno("connect to " + path));
    return fd;
}

spool::Result<Fd> listen_local(const std::string& path, mode_t mode) {
    auto address = TRY(address_of(path));
    Fd fd = TRY(new_socket());
    struct stat there;
    if (lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) unlink(path.c_str());
    // No process may connect between bind() and chmod() unless it may afterwards.
    const mode_t before = umask(0177);
    const int failed = bind(fd.number(), reinterpret_cast<const sockaddr*>(&address.name), sizeof address.name);
    const int why = errno;
    umask(before);
    if (failed) return std::unexpected(spool::Error::from_errno("bind " + path, why));
    if (chmod(path.c_str(), mode) != 0) return std::unexpected(spool::Error::from_errno("chmod " + path));
    if (listen(fd.number(), SOMAXCONN) != 0) return std::unexpected(spool::Error::from_errno("listen on " + path));
    return fd;
}

spool::Result<Credentials> peer_credentials(int fd) {
    ucred who{};
    socklen_t size = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return std::unexpected(spool::Error::from_errno("identify the peer"));
    Credentials credentials{who.uid, who.gid, who.pid, std::vector<gid_t>(64)};
    for (;;) { // twice at most, unless there are many groups
        auto room = static_cast<socklen_t>(credentials.groups.size() * sizeof(gid_t));
        const int failed = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, credentials.groups.data(), &room);
        if (failed && errno != ERANGE) room = 0; // an older kernel: only its first group is known
        credentials.groups.resize(room / sizeof(gid_t));
        if (!failed || errno != ERANGE) return credentials;
    }
}

} // namespace common
