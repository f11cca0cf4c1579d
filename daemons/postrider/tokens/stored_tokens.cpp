#include "daemons/postrider/tokens/stored_tokens.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/tokens/token_file.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace postrider {

using spool::Error;

namespace {

constexpr mode_t file_mode = 0640;
const std::string fresh_name = "tokens.new";

} // namespace

spool::Result<StoredTokens> StoredTokens::open(const std::string& directory) {
    common::Fd lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock || ::flock(lock.number(), LOCK_EX) != 0) return std::unexpected(Error::from_errno(directory));
    StoredTokens stored(directory, std::move(lock));
    const auto path = directory + "/" + std::string(tokens::file_name);
    const auto text = common::read_bounded(path, tokens::largest_file);
    if (!text && text.error() == ENOENT) return stored;
    if (!text) return std::unexpected(Error::from_errno(path, text.error()));
    auto read = tokens::parse(*text);
    if (!read) return std::unexpected(Error{0, path + ": " + read.error()});
    stored.tokens = *std::move(read);
    return stored;
}

spool::Result<> StoredTokens::save() const {
    const int directory = lock_.number();
    struct stat owner{};
    if (::fstat(directory, &owner) != 0) return std::unexpected(Error::from_errno(directory_));
    ::unlinkat(directory, fresh_name.c_str(), 0); // of a command that was killed
    const common::Fd file(
        ::openat(directory, fresh_name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file_mode));
    const auto failed = [&] {
        auto error = Error::from_errno(directory_ + "/" + fresh_name);
        ::unlinkat(directory, fresh_name.c_str(), 0);
        return std::unexpected(std::move(error));
    };
    if (!file || ::fchmod(file.number(), file_mode) != 0) return failed();
    if (::geteuid() == 0 && ::fchown(file.number(), owner.st_uid, owner.st_gid) != 0) return failed();
    const auto text = tokens::text_of(tokens);
    for (std::size_t at = 0; at < text.size();) {
        const auto n = ::write(file.number(), text.data() + at, text.size() - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return failed();
        at += static_cast<std::size_t>(n);
    }
    if (::fsync(file.number()) != 0) return failed();
    if (::renameat(directory, fresh_name.c_str(), directory, std::string(tokens::file_name).c_str()) != 0)
        return failed();
    if (::fsync(directory) != 0) return std::unexpected(Error::from_errno(directory_));
    return {};
}

} // namespace postrider
