// One file in the drop directory: made under its name, locked while it is written, durable when finish()
// returns. What pickup takes for a submission is a file with an end, so that a torn one is none. Used by
// sendmail itself where nobody changes user, else by the set-gid helper.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/submission/drop_limits.h"
#include "libspool/disk/result.h"
#include <string>
#include <string_view>

namespace sendmail {

class DropFile {
public:
    // EDQUOT: the caller has left too much there already; ENOSPC: the disk is too full.
    static spool::Result<DropFile> create(const std::string& directory);
    DropFile(DropFile&&) = default;
    ~DropFile(); // removed if not finished

    // What there is room for at create() may go while others write: it is looked at again and again.
    spool::Result<> write(std::string_view bytes);
    spool::Result<> finish();
    const common::DropLimits& limits() const { return limits_; }

private:
    DropFile() = default;
    common::Fd directory_, file_;
    std::string name_;
    common::DropLimits limits_;
    std::uint64_t unchecked_ = 0; // written since the last look
};

} // namespace sendmail
