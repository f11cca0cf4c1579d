// Moves a file that is no longer usable as mail (damaged, incomplete, undeliverable report) to another
// directory, with a text file beside it that gives the reason. Deletes nothing, overwrites nothing.
#pragma once
#include "libspool/disk/disk.h"
#include <string>

namespace spool {

// <path> → <directory>/<name>, or <name>.1, .2 … if that is taken, and <that>.why with the reason. Returns
// the new path. The reason is a convenience: that it cannot be written is no failure.
Result<std::string> quarantine_file(Disk& disk, const std::string& path, const std::string& directory,
                                    const std::string& name, const std::string& why);

} // namespace spool
