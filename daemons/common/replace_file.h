// A small file of a daemon's own state, replaced as a whole: who reads it finds the old text or the new one.
// Not synced: what it holds must be worth less than a wait for the disk. Not for mail.
#pragma once
#include "libspool/result.h"
#include <string>
#include <string_view>

namespace common {

// Writes `name` in `directory`, which has one writer. The error says what and where.
spool::Result<> replace_file(const std::string& directory, const std::string& name, std::string_view text);

// Makes it, readable by its owner only, if it is not there.
spool::Result<> make_state_directory(const std::string& directory);

} // namespace common
