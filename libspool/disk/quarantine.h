// Moves a file that is no mail any more (damaged, incomplete, undeliverable report) out of the way, with a
// line beside it that says why. Deletes nothing, overwrites nothing.
#pragma once
#include "libspool/disk/disk.h"
#include <string>

namespace spool {

// <path> → <directory>/<name>, or <name>.1, .2 … if that is taken, and <that>.why with the reason. Returns
// the new path. The reason is a convenience: that it cannot be written is no failure.
Result<std::string> quarantine_file(Disk& disk, const std::string& path, const std::string& directory,
                              const std::string& name, const std::string& why);

} // namespace spool
