#include "libspool/disk/real_disk.h"
#include "libspool/disk/file_system.h"
#include <algorithm>
#include <array>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

namespace spool {

namespace {
std::unexpected<Error> failed(std::string action, int code = errno) {
    return std::unexpected(Error::from_errno(std::move(action), code));
}
int flags_of(Open how) {
    switch (how) {
    case Open::read: return O_RDONLY;
    case Open::read_write: return O_RDWR;
    case Open::create: return O_RDWR | O_CREAT | O_EXCL;
    case Open::upsert: return O_RDWR | O_CREAT;
    case Open::directory: return O_RDONLY | O_DIRECTORY;
    }
    return O_RDONLY;
}
} // namespace

RealDisk::RealDisk(int directory_descriptor) : directory_(directory_descriptor) {
    const auto kind = file_system_at(directory_descriptor);
    keeps_name_ = kind && kind->durability == Durability::tested;
    copies_on_write_ = kind && kind->name == "btrfs";
}

Result<std::unique_ptr<RealDisk>> RealDisk::open_at(const std::string& directory) {
    const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed("open " + directory);
    return std::make_unique<RealDisk>(fd);
}

RealDisk::~RealDisk() { ::close(directory_); }

void RealDisk::close(int handle) noexcept { ::close(handle); }

Result<File> RealDisk::open(const std::string& path, Open how) {
    const int fd =
        ::openat(directory_, path.c_str(), flags_of(how) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0) return failed((how == Open::create ? "create " : "open ") + path);
    return File(*this, fd);
}

Result<std::size_t> RealDisk::read(const File& file, std::uint64_t offset, std::span<char> into) {
    std::size_t got = 0;
    while (got < into.size()) {
        const auto n = ::pread(file.handle(), into.data() + got, into.size() - got, static_cast<off_t>(offset + got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed("read");
        if (n == 0) break;
        got += static_cast<std::size_t>(n);
    }
    return got;
}

Result<> RealDisk::write(const File& file, std::uint64_t offset, std::span<const std::string_view> parts) {
    std::array<iovec, 8> vector;
    std::size_t skip = 0; // of the first part
    while (!parts.empty()) {
        int count = 0;
        for (const auto& part : parts.first(std::min(parts.size(), vector.size())))
            vector[static_cast<std::size_t>(count++)] = {const_cast<char*>(part.data()), part.size()};
        vector[0].iov_base = static_cast<char*>(vector[0].iov_base) + skip;
        vector[0].iov_len -= skip;
        const auto n = ::pwritev(file.handle(), vector.data(), count, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed("write");
        offset += static_cast<std::uint64_t>(n);
        skip += static_cast<std::size_t>(n);
        while (!parts.empty() && skip >= parts.front().size()) {
            skip -= parts.front().size();
            parts = parts.subspan(1);
        }
        if (n == 0 && !parts.empty()) return failed("write", EIO);
    }
    return {};
}

Result<std::uint64_t> RealDisk::size(const File& file) {
    struct stat st;
    if (::fstat(file.handle(), &st) != 0) return failed("stat");
    return static_cast<std::uint64_t>(st.st_size);
}

Result<> RealDisk::truncate(const File& file, std::uint64_t size) {
    if (::ftruncate(file.handle(), static_cast<off_t>(size)) != 0) return failed("truncate");
    return {};
}

Result<> RealDisk::allocate(const File& file, std::uint64_t offset, std::uint64_t size) {
    if (::fallocate(file.handle(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size)) != 0)
        return failed("allocate");
    return {};
}

void RealDisk::prefer_overwriting(const File& file) {
    if (!copies_on_write_) return;
    int flags = 0;
    if (::ioctl(file.handle(), FS_IOC_GETFLAGS, &flags) != 0) return;
    flags |= FS_NOCOW_FL;
    (void)::ioctl(file.handle(), FS_IOC_SETFLAGS, &flags);
}

Result<> RealDisk::punch_hole(const File& file, std::uint64_t offset, std::uint64_t size) {
    if (::fallocate(file.handle(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(size)) != 0)
        return failed("punch hole");
    return {};
}

int RealDisk::timed(int (*sync)(int), const File& file) {
    if (!watch_) return sync(file.handle());
    const auto began = std::chrono::steady_clock::now();
    const int rc = sync(file.handle());
    const int error = errno;
    watch_(std::chrono::steady_clock::now() - began);
    errno = error;
    return rc;
}

Result<> RealDisk::sync(const File& file) {
    if (timed(::fsync, file) != 0) return failed("sync");
    return {};
}

Result<> RealDisk::sync_data(const File& file) {
    if (timed(::fdatasync, file) != 0) return failed("sync");
    return {};
}

Result<Locked> RealDisk::lock(const File& file, Lock kind) {
    int rc;
    do rc = ::flock(file.handle(), (kind == Lock::shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
    while (rc != 0 && errno == EINTR);
    if (rc == 0) return Locked::yes;
    if (errno == EWOULDBLOCK) return Locked::held_by_another;
    return failed("lock");
}

Result<> RealDisk::unlock(const File& file) {
    if (::flock(file.handle(), LOCK_UN) != 0) return failed("unlock");
    return {};
}

Result<> RealDisk::rename(const std::string& from, const std::string& to) {
    if (::renameat(directory_, from.c_str(), directory_, to.c_str()) != 0)
        return failed("rename " + from + " to " + to);
    return {};
}

Result<> RealDisk::unlink(const std::string& path) {
    if (::unlinkat(directory_, path.c_str(), 0) != 0) return failed("remove " + path);
    return {};
}

Result<> RealDisk::make_directory(const std::string& path, unsigned mode) {
    if (::mkdirat(directory_, path.c_str(), mode) != 0 && errno != EEXIST) return failed("make directory " + path);
    return {};
}

Result<std::vector<std::string>> RealDisk::list(const std::string& path) {
    const int fd = ::openat(directory_, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return failed("list " + path);
    DIR* stream = ::fdopendir(fd);
    if (stream == nullptr) {
        const int code = errno;
        ::close(fd);
        return failed("list " + path, code);
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    const int code = errno;
    ::closedir(stream);
    if (code != 0) return failed("list " + path, code);
    return names;
}

Result<Space> RealDisk::space() {
    struct statvfs st;
    if (::fstatvfs(directory_, &st) != 0) return failed("get free space");
    return Space{st.f_bavail * st.f_frsize, st.f_blocks * st.f_frsize, st.f_favail, st.f_files};
}

bool RealDisk::read_only() const {
    struct statvfs st;
    return ::fstatvfs(directory_, &st) == 0 && (st.f_flag & ST_RDONLY) != 0;
}

} // namespace spool
