// The whole text of a small file: configurations, certificates, passwords. Not for mail, nor on the path of mail.
#pragma once
#include "libspool/disk/result.h"
#include <cstddef>
#include <expected>
#include <string>
#include <sys/types.h>

namespace common {

// The error says "read PATH: No such file …"; what has more than 1 GiB, or no end, is one, too.
spool::Result<std::string> read_file(const std::string& path);
// Of a file that others write: `most` bytes of it at the most. The error is an errno; EFBIG: there are more.
std::expected<std::string, int> read_bounded(const std::string& path, std::size_t most);
// The same, of a file with secrets: an error, and what to do about it, if it belongs to, or may be read by,
// anybody but root and `user`.
spool::Result<std::string> read_private_file(const std::string& path, uid_t user);

} // namespace common
