#include "daemons/sendmail/drop_file.h"
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sendmail {

using spool::Error;
using spool::Result;

static constexpr std::uint64_t check_every = 1024 * 1024; // bytes

Result<DropFile> DropFile::create(const std::string& directory) {
    DropFile drop;
    drop.directory_ = common::Fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!drop.directory_) return std::unexpected(Error::from_errno(directory));
    drop.limits_ = common::published_drop_limits(drop.directory_.number());
    std::random_device random;
    for (int n = 0;; ++n) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        char name[64];
        std::snprintf(
            name, sizeof name, "%014llx.%lu.%08x",
            static_cast<unsigned long long>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
            static_cast<unsigned long>(::getpid()), random());
        // Others can read it if they get at it; only those who may enter the directory do.
        drop.file_ = common::Fd(
            ::openat(drop.directory_.number(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (drop.file_) {
            drop.name_ = name;
            break;
        }
        if (errno != EEXIST || n == 10) return std::unexpected(Error::from_errno(directory));
    }
    if (::flock(drop.file_.number(), LOCK_EX | LOCK_NB) != 0 || ::fchmod(drop.file_.number(), 0644) != 0)
        return std::unexpected(Error::from_errno(directory + "/" + drop.name_));
    TRY(common::room_in_drop(drop.directory_.number(), drop.limits_, ::getuid(), 0)); // this one is counted
    return drop;
}

DropFile::~DropFile() {
    if (file_ && !name_.empty()) ::unlinkat(directory_.number(), name_.c_str(), 0);
}

Result<> DropFile::write(std::string_view bytes) {
    unchecked_ += bytes.size();
    if (unchecked_ > check_every) {
        TRY(common::room_in_drop(directory_.number(), limits_, ::getuid(), bytes.size()));
        unchecked_ = 0;
    }
    while (!bytes.empty()) {
        const auto n = ::write(file_.number(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(Error::from_errno("writing to the drop directory"));
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

Result<> DropFile::finish() {
    TRY(common::room_in_drop(directory_.number(), limits_, ::getuid(), 0));
    if (::fsync(file_.number()) != 0 || ::fsync(directory_.number()) != 0)
        return std::unexpected(Error::from_errno("writing to the drop directory"));
    name_.clear();
    file_.reset(); // lets go of the lock: pickup may take it
    return {};
}

} // namespace sendmail
