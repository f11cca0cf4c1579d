// A small file of a daemon's own state, replaced as a whole: a reader finds the
// old text or the new one. Not synced: its loss must be acceptable. Not for mail.
#pragma once
#include "libspool/disk/result.h"
#include <string>
#include <string_view>
#include <sys/types.h>

namespace common {

struct Replacement {
    std::string_view fresh = ".new"; // its name until it is complete; within a directory, different for each writer
    mode_t mode = 0600;
};
// Writes `name` in `directory`. The error says what and where.
spool::Result<> replace_file(const std::string& directory, const std::string& name, std::string_view text,
                             const Replacement& how = {});

// Creates it, readable by its owner only, if it does not exist.
spool::Result<> make_state_directory(const std::string& directory);

} // namespace common
