#include "daemons/common/submission/idempotency/owner_lock.h"
#include "daemons/common/runtime/random.h"
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

namespace common::idempotency {

using decide::idempotency::Owner;
using spool::Error;

namespace {

constexpr std::size_t longest_name = 64;

std::string path_of(const std::string& directory, std::uint8_t slot) {
    return fmt::format("{}/owner.{:02X}", directory, slot);
}

} // namespace

spool::Result<OwnerLock> OwnerLock::take(const std::string& directory, std::uint8_t slot) {
    const auto path = path_of(directory, slot);
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return std::unexpected(Error::from_errno("open " + path));
    if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return std::unexpected(Error::from_errno("lock " + path));
    auto name = fmt::format("{:02X}:", slot);
    for (const char c : random_bytes(8)) name += fmt::format("{:02x}", static_cast<unsigned char>(c));
    // Of fixed length: a process that reads it meanwhile gets the old one or the new one.
    if (::pwrite(file.number(), name.data(), name.size(), 0) != static_cast<ssize_t>(name.size()))
        return std::unexpected(Error::from_errno("write " + path));
    return OwnerLock(std::move(file), std::move(name));
}

Owner OwnerLock::state_of(const std::string& directory, std::string_view name) {
    unsigned slot = 0;
    const auto colon = name.find(':');
    if (colon != 2 || std::from_chars(name.data(), name.data() + 2, slot, 16).ptr != name.data() + 2)
        return Owner::dead;
    const Fd file(::open(path_of(directory, static_cast<std::uint8_t>(slot)).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return errno == ENOENT ? Owner::dead : Owner::alive;
    if (::flock(file.number(), LOCK_SH | LOCK_NB) == 0) return Owner::dead; // no process has the slot
    if (errno != EWOULDBLOCK) return Owner::alive;
    std::array<char, longest_name> read{};
    const auto n = ::pread(file.number(), read.data(), read.size(), 0);
    return n < 0 || std::string_view(read.data(), static_cast<std::size_t>(n)) == name ? Owner::alive : Owner::dead;
}

} // namespace common::idempotency
