// Opening and writing files that others can influence: without following links, with their owner checked.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace local {

// The directory itself must be no link. Made (0700, parents too, each name synced) if it does not exist.
spool::Result<common::Fd> open_or_make_directory(const std::string& path);

// Error EPERM unless the open file belongs to `owner`.
spool::Result<> check_owner(int fd, std::uint32_t owner, const std::string& path);

// Everything, at the file's position. `path` for the error.
spool::Result<> write_all(int fd, std::string_view bytes, const std::string& path);

// "/var/mail" of "/var/mail/user"; "." if there is no slash.
std::string parent_of(const std::string& path);
spool::Result<> sync_directory(const std::string& path);

} // namespace local
