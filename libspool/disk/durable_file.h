// A small file as a whole: after a crash or power loss there is the old content or the new one, never a part. Knows
// nothing of what is in it. Two calls for the same path must not run at the same time.
#pragma once
#include "libspool/disk/disk.h"
#include <string>
#include <string_view>

namespace spool {

// Written beside it as PATH.new, synced, renamed, and the directory synced: durable when it returns. After an error
// the file has its old content (or, if only the directory's sync failed, either); PATH.new may be left and is used
// again.
Result<> replace_durably(Disk& disk, const std::string& path, std::string_view content);

// Durably. No error if there is no such file.
Result<> remove_durably(Disk& disk, const std::string& path);

} // namespace spool
