#include "daemons/postrider/command/new_key_file.h"
#include "daemons/common/runtime/fd.h"
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace postrider {

std::optional<int> write_new_key_file(const std::string& path, const std::string& pem) {
    const common::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return errno;
    errno = EIO; // of a short write
    if (::write(file.number(), pem.data(), pem.size()) == static_cast<ssize_t>(pem.size()) &&
        ::fsync(file.number()) == 0)
        return std::nullopt;
    const int error = errno;
    ::unlink(path.c_str());
    return error;
}

} // namespace postrider
