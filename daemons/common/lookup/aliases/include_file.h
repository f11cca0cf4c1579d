// A file that an alias file includes, opened with the system's rights: a regular file that only its owner and their
// group may write. Must not know its content.
#pragma once
#include "daemons/common/runtime/fd.h"
#include <cstddef>
#include <expected>
#include <string>
#include <sys/stat.h>

namespace common {

// The name of a file's owner, as which the targets in the file are delivered; "" for root, and for a uid without a
// name.
std::string owner_name(uid_t uid);

struct IncludeFile {
    Fd fd;
    struct stat facts{};

    static constexpr std::size_t largest = 8 << 20;
    // The error says why the file cannot be opened, or cannot be trusted.
    static std::expected<IncludeFile, std::string> open(const std::string& path);
    std::expected<std::string, std::string> read() const; // all of it, once
};

} // namespace common
