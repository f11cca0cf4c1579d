#include "daemons/local/mailbox/mbox.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/local/mailbox/files.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace local {
namespace {

using common::Fd;
using spool::Error;
using spool::Result;
using namespace std::chrono_literals;

constexpr std::time_t stale_after = 300; // seconds: the program that made such a dot-lock is gone

std::string dot_lock_of(const std::string& path) { return path + ".lock"; }

// Has the process that a dot-lock names ended? As in liblockfile: a lock that names no process proves nothing.
bool is_dead_program_s(const std::string& name) {
    const Fd fd(open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    char text[16];
    const auto n = fd ? read(fd.number(), text, sizeof text) : -1;
    int pid = 0;
    if (n <= 0 || std::from_chars(text, text + n, pid).ec != std::errc{} || pid <= 0) return false;
    return kill(pid, 0) != 0 && errno == ESRCH;
}

// Does it exist now, made by us? In a directory we may not write to, other programs running as this user make no
// dot-locks either: the kernel's lock must do then.
enum class DotLock : std::uint8_t { made, taken, not_possible };

Result<DotLock> make_dot_lock(const std::string& path) {
    const std::string name = dot_lock_of(path);
    const Fd fd(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
    if (fd) {
        TRY(write_all(fd.number(), fmt::format("{}\n", getpid()), name));
        return DotLock::made;
    }
    if (errno == EACCES || errno == EPERM || errno == EROFS) return DotLock::not_possible;
    if (errno != EEXIST) return std::unexpected(Error::from_errno("create " + name));
    struct stat found;
    const bool old = lstat(name.c_str(), &found) == 0 && found.st_mtime + stale_after < std::time(nullptr);
    if (old || is_dead_program_s(name)) unlink(name.c_str());
    return DotLock::taken;
}

} // namespace

Mbox::~Mbox() {
    if (dirty_ && ftruncate(file_.number(), size_before_) == 0) fsync(file_.number());
    if (dot_locked_) unlink(dot_lock_of(request_.path).c_str());
}

Result<> Mbox::open_file() {
    const mode_t mode = request_.shared ? 0660 : 0600;
    const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    file_ = Fd(::open(request_.path.c_str(), flags));
    if (!file_ && errno == ENOENT) {
        file_ = Fd(::open(request_.path.c_str(), flags | O_CREAT | O_EXCL, mode));
        if (!file_ && errno == ENOENT) { // a directory of the user's own that does not exist yet
            TRY(open_or_make_directory(parent_of(request_.path)));
            file_ = Fd(::open(request_.path.c_str(), flags | O_CREAT | O_EXCL, mode));
        }
        made_ = bool(file_);
        if (!file_ && errno == EEXIST) file_ = Fd(::open(request_.path.c_str(), flags));
    }
    if (!file_) return std::unexpected(Error::from_errno("open " + request_.path));
    struct stat found;
    if (fstat(file_.number(), &found) != 0) return std::unexpected(Error::from_errno("examine " + request_.path));
    if (!S_ISREG(found.st_mode) || found.st_nlink != 1)
        return std::unexpected(Error{EPERM, request_.path + " is not a regular file with a single link"});
    return request_.owned ? check_owner(file_.number(), request_.owner, request_.path) : Result<>();
}

// The kernel's lock belongs to this open file, not to the process: parallel deliveries here exclude each other, too.
Result<bool> Mbox::try_lock() {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(file_.number(), F_OFD_SETLK, &lock) != 0) {
        if (errno == EAGAIN || errno == EACCES) return false;
        return std::unexpected(Error::from_errno("lock " + request_.path));
    }
    switch (TRY(make_dot_lock(request_.path))) {
    case DotLock::made: return dot_locked_ = true;
    case DotLock::not_possible: return true;
    case DotLock::taken: break;
    }
    lock.l_type = F_UNLCK;
    fcntl(file_.number(), F_OFD_SETLK, &lock);
    return false;
}

std::optional<Verdict> Mbox::open() {
    if (auto opened = open_file(); !opened) return verdict_of(opened.error());
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(request_.lock_timeout);
    for (auto pause = 5ms;; pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
        const auto locked = try_lock();
        if (!locked) return verdict_of(locked.error());
        if (*locked) break;
        if (std::chrono::steady_clock::now() >= until)
            return of_mailbox(deferred("4.2.0", fmt::format("{} is locked by another program", request_.path)));
        std::this_thread::sleep_for(pause);
    }
    struct stat found;
    if (fstat(file_.number(), &found) != 0) return verdict_of(Error::from_errno("examine " + request_.path));
    if (found.st_nlink != 1)
        return deferred("4.2.0", request_.path + " was replaced while waiting for its "
                                                 "lock");
    size_before_ = found.st_size;
    char last = '\n';
    if (size_before_ > 0 && pread(file_.number(), &last, 1, size_before_ - 1) != 1)
        return verdict_of(Error::from_errno("read " + request_.path));
    buffer_.clear();
    if (last != '\n') buffer_.push_back('\n'); // the last line is unterminated: do not continue it
    buffer_ += request_.from_line;
    buffer_ += '\n';
    text_begins_ = size_before_ + static_cast<std::int64_t>(buffer_.size());
    buffer_ += request_.prefix;
    return {};
}

Result<> Mbox::flush() {
    dirty_ = true;
    TRY(write_all(file_.number(), buffer_, request_.path));
    written_ += static_cast<std::int64_t>(buffer_.size());
    buffer_.clear();
    return {};
}

std::optional<Verdict> Mbox::too_large() const {
    const auto size = static_cast<std::uint64_t>(size_before_ + written_) + buffer_.size();
    if (request_.max_size == 0 || size <= request_.max_size) return {};
    return failed("5.2.2",
                  fmt::format("mailbox full: {} may not grow beyond {} bytes", request_.path, request_.max_size));
}

std::optional<Verdict> Mbox::write(std::string_view content) {
    text_.append(content, buffer_);
    if (!request_.may_be_delivered)
        if (auto verdict = too_large()) return verdict;
    if (buffer_.size() < 64 * 1024) return {};
    const auto flushed = flush();
    return flushed ? std::nullopt : std::optional(verdict_of(flushed.error()));
}

// Is what was just written in the mailbox already, near its end? All of it: a part is of no use.
Result<bool> Mbox::is_there() {
    constexpr std::int64_t came_last = 16 * 1024 * 1024, block = 256 * 1024;
    const auto read = [&](std::int64_t at, std::int64_t size) -> Result<std::string> {
        std::string out(static_cast<std::size_t>(size), '\0');
        const auto n = pread(file_.number(), out.data(), out.size(), at);
        if (n < 0) return std::unexpected(Error::from_errno("read " + request_.path));
        out.resize(static_cast<std::size_t>(n));
        return out;
    };
    struct stat now;
    if (fstat(file_.number(), &now) != 0) return std::unexpected(Error::from_errno("examine " + request_.path));
    const std::int64_t size = now.st_size - text_begins_;
    const auto same = [&](std::int64_t there) -> Result<bool> {
        for (std::int64_t done = 0; done < size; done += block) {
            const auto length = std::min(block, size - done);
            if (TRY(read(there + done, length)) != TRY(read(text_begins_ + done, length))) return false;
        }
        return true;
    };
    const std::string head = TRY(read(text_begins_, std::min<std::int64_t>(size, 1024)));
    for (auto at = std::max<std::int64_t>(0, size_before_ - size - came_last); at + size <= size_before_; at += block) {
        const auto reach = std::min(block + static_cast<std::int64_t>(head.size()) - 1, size_before_ - at);
        const std::string piece = TRY(read(at, reach));
        for (auto hit = piece.find(head); hit != piece.npos; hit = piece.find(head, hit + 1)) {
            const auto there = at + static_cast<std::int64_t>(hit);
            if (there + size <= size_before_ && TRY(same(there))) return true;
        }
    }
    return false;
}

Verdict Mbox::commit() {
    text_.finish(buffer_);
    buffer_ += '\n';
    if (auto flushed = flush(); !flushed) return verdict_of(flushed.error());
    if (request_.may_be_delivered) {
        const auto there = is_there();
        if (!there) return verdict_of(there.error());
        if (*there) return delivered(request_.done_text() + " before"); // and what was written is cut off again
    }
    if (auto verdict = too_large()) return *verdict;
    if (fsync(file_.number()) != 0) return verdict_of(Error::from_errno("sync " + request_.path));
    if (made_) {
        if (auto synced = sync_directory(parent_of(request_.path)); !synced) return verdict_of(synced.error());
    }
    dirty_ = false;
    CRASH_POINT("local.mbox_synced");
    return delivered(request_.done_text());
}

} // namespace local
