// A small file of a daemon's own state, replaced as a whole: a reader finds the
// old text or the new one. Not synced: its loss must be acceptable. Not for mail.
#pragma once
#include "libspool/disk/result.h"
#include <string>
#include <string_view>
#include <sys/types.h>

namespace common {

struct Replacement {
    std::string_view fresh = ".new"; // what it is called until it is whole; in one directory, one for each writer
    mode_t mode = 0600;
};
// Writes `name` in `directory`. The error says what and where.
spool::Result<> replace_file(const std::string& directory, const std::string& name, std::string_view text,
                             const Replacement& how = {});

// Makes it, readable by its owner only, if it is not there.
spool::Result<> make_state_directory(const std::string& directory);

} // namespace common
