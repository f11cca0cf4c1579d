#include "daemons/pickup/directory/failed_files.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pickup {

namespace {

constexpr std::size_t longest_name = 200; // of the file, before the stamp and ".reason"

auto failure(std::string_view what) {
    return std::unexpected(fmt::format("failed/{}: {}", what, std::strerror(errno)));
}

} // namespace

std::expected<FailedFiles, std::string> FailedFiles::open(int directory) {
    if (::mkdirat(directory, "failed", 0755) != 0 && errno != EEXIST) return failure("");
    common::Fd fd(::openat(directory, "failed", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat st{};
    if (!fd || ::fstat(fd.number(), &st) != 0) return failure("");
    if (st.st_uid != ::geteuid()) return std::unexpected("failed/ belongs to another user: remove it");
    static_cast<void>(::fchmod(fd.number(), 0755)); // whatever our umask is, their owners look there
    return FailedFiles(std::move(fd));
}

bool FailedFiles::is_gone() const {
    struct stat st{};
    return ::fstat(fd_.number(), &st) != 0 || st.st_nlink == 0;
}

void FailedFiles::count() {
    of_user_.clear();
    all_ = 0;
    const int fd = ::openat(fd_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (stream == nullptr) {
        if (fd >= 0) ::close(fd);
        return;
    }
    while (const dirent* entry = ::readdir(stream)) {
        struct stat st{};
        if (entry->d_name[0] == '.' || std::string_view(entry->d_name).ends_with(".reason")) continue;
        if (::fstatat(fd_.number(), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        ++of_user_[st.st_uid];
        ++all_;
    }
    ::closedir(stream);
}

bool FailedFiles::is_full(uid_t owner) const {
    const auto mine = of_user_.find(owner);
    return all_ >= most || (mine != of_user_.end() && mine->second >= most_of_user);
}

// The reason first: after a crash there may be one without its file, never a file without a reason.
std::expected<std::string, std::string> FailedFiles::move(int directory, const std::string& name, uid_t owner,
                                                          std::int64_t stamp, std::string_view reason) {
    if (is_full(owner)) count(); // some may have been removed
    if (is_full(owner))
        return std::unexpected(
            fmt::format("failed/ has {} files of this user and {} in all: remove some", of_user_[owner], all_));
    const auto to = fmt::format("{}.{}", stamp, name.substr(name.size() - std::min(name.size(), longest_name)));
    const auto beside = to + ".reason";
    common::Fd file(::openat(fd_.number(), beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file) return failure(beside);
    const auto undo = [&](std::string_view what) {
        const auto why = failure(what);
        static_cast<void>(::unlinkat(fd_.number(), beside.c_str(), 0));
        return why;
    };
    const auto line = fmt::format("{}\n", reason);
    if (::write(file.number(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return undo(beside);
    static_cast<void>(::fchmod(file.number(), 0644));
    if (::renameat2(directory, name.c_str(), fd_.number(), to.c_str(), RENAME_NOREPLACE) != 0) return undo(to);
    ++of_user_[owner];
    ++all_;
    return "failed/" + to;
}

} // namespace pickup
