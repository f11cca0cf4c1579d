#include "daemons/common/store/file_mutex.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>

namespace store {

spool::Result<std::unique_ptr<FileMutex>> FileMutex::open(const std::string& path) {
    common::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return std::unexpected(spool::Error::from_errno("open " + path));
    return std::unique_ptr<FileMutex>(new FileMutex(std::move(file)));
}

void FileMutex::lock() {
    mutex_.lock();
    while (::flock(file_.number(), LOCK_EX) != 0 && errno == EINTR) {
    }
}

void FileMutex::unlock() {
    ::flock(file_.number(), LOCK_UN);
    mutex_.unlock();
}

} // namespace store
