// One file in the drop directory: created under its name, locked while it is written, durable when finish() returns.
// Pickup takes only a file with an end for a submission, so a torn one does not count. Used by sendmail itself in
// single-user mode, else by the set-gid helper.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/submission/drop_limits.h"
#include "libspool/disk/result.h"
#include <string>
#include <string_view>

namespace sendmail {

class DropFile {
public:
    // EDQUOT: the caller has too much there already; ENOSPC: the disk is too full.
    static spool::Result<DropFile> create(const std::string& directory);
    DropFile(DropFile&&) = default;
    ~DropFile(); // removed if not finished

    // The room available at create() may vanish while others write: it is checked repeatedly.
    spool::Result<> write(std::string_view bytes);
    spool::Result<> finish();
    const common::DropLimits& limits() const { return limits_; }

private:
    DropFile() = default;
    common::Fd directory_, file_;
    std::string name_;
    common::DropLimits limits_;
    std::uint64_t unchecked_ = 0; // written since the last check
};

} // namespace sendmail
