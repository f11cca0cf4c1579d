#include "daemons/local/mailbox/maildir.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/local/mailbox/files.h"
#include <atomic>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace local {
namespace {

using common::Fd;
using spool::Error;
using spool::Result;

// new/ never overwrites: EEXIST means that an earlier try got there.
int move_without_replacing(int from_directory, const char* from, int to_directory, const char* to) {
    if (renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    return linkat(from_directory, from, to_directory, to, 0); // a file system without; tmp/ is cleared later
}

} // namespace

Maildir::~Maildir() {
    if (tmp_ && !tmp_name_.empty()) unlinkat(tmp_.number(), tmp_name_.c_str(), 0);
}

Result<> Maildir::open_directories() {
    const Fd base = TRY(open_or_make_directory(request_.path));
    if (request_.owned) TRY(check_owner(base.number(), request_.owner, request_.path));
    bool made = false;
    for (const auto& [name, fd] : {std::pair{"tmp", &tmp_}, {"new", &new_}, {"cur", &cur_}}) {
        if (mkdirat(base.number(), name, 0700) == 0) made = true;
        *fd = Fd(openat(base.number(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!*fd) return std::unexpected(Error::from_errno(fmt::format("open {}/{}", request_.path, name)));
    }
    if (made && fsync(base.number()) != 0) return std::unexpected(Error::from_errno("sync " + request_.path));
    return {};
}

Result<bool> Maildir::is_there() {
    struct stat found;
    if (fstatat(new_.number(), request_.name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) return true;
    if (!request_.may_be_delivered) return false;
    // Readers move it to cur/ and append ":2,flags".
    Fd again(openat(cur_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> list(again ? fdopendir(again.number()) : nullptr, closedir);
    if (!list) return std::unexpected(Error::from_errno(fmt::format("list {}/cur", request_.path)));
    (void)again.release(); // the stream closes it
    while (const dirent* entry = readdir(list.get())) {
        const std::string_view name = entry->d_name;
        if (name.starts_with(request_.name) &&
            (name.size() == request_.name.size() || name[request_.name.size()] == ':'))
            return true;
    }
    return false;
}

std::optional<Verdict> Maildir::open() {
    if (auto opened = open_directories(); !opened) return verdict_of(opened.error());
    const auto there = is_there();
    if (!there) return verdict_of(there.error());
    if (*there) return delivered(request_.done_text() + " before");
    // Not the name it will have: two processes may be at it at the same time.
    static std::atomic<unsigned> serial = 0;
    std::string name = fmt::format("{}.P{}n{}", request_.name, getpid(), ++serial);
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    file_ = Fd(openat(tmp_.number(), name.c_str(), flags, 0600));
    if (!file_ && errno == EEXIST && unlinkat(tmp_.number(), name.c_str(), 0) == 0) // of a process long dead
        file_ = Fd(openat(tmp_.number(), name.c_str(), flags, 0600));
    if (!file_) return verdict_of(Error::from_errno(fmt::format("create {}/tmp/{}", request_.path, name)));
    tmp_name_ = std::move(name);
    buffer_ = request_.prefix;
    return {};
}

Result<> Maildir::flush() {
    TRY(write_all(file_.number(), buffer_, request_.path));
    buffer_.clear();
    return {};
}

std::optional<Verdict> Maildir::write(std::string_view content) {
    text_.append(content, buffer_);
    if (buffer_.size() < 64 * 1024) return {};
    const auto flushed = flush();
    return flushed ? std::nullopt : std::optional(verdict_of(flushed.error()));
}

Verdict Maildir::commit() {
    text_.finish(buffer_);
    if (auto flushed = flush(); !flushed) return verdict_of(flushed.error());
    if (fsync(file_.number()) != 0) return verdict_of(Error::from_errno("sync " + request_.path));
    CRASH_POINT("local.before_rename");
    if (move_without_replacing(tmp_.number(), tmp_name_.c_str(), new_.number(), request_.name.c_str()) != 0) {
        if (errno == EEXIST) return delivered(request_.done_text() + " before");
        return verdict_of(Error::from_errno(fmt::format("name {}/new/{}", request_.path, request_.name)));
    }
    CRASH_POINT("local.after_rename");
    // Without this a power cut takes the name back.
    if (fsync(new_.number()) != 0) return verdict_of(Error::from_errno(fmt::format("sync {}/new", request_.path)));
    return delivered(request_.done_text());
}

} // namespace local
