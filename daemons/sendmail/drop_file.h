// One file in the drop directory: made under its name, locked while it is written, durable when finish()
// returns. What pickup takes for a submission is a file with an end, so that a torn one is none. Used by
// sendmail itself where nobody changes user, else by the set-gid helper.
#pragma once
#include "daemons/common/fd.h"
#include "libspool/result.h"
#include <string>
#include <string_view>

namespace sendmail {

class DropFile {
public:
    static spool::Result<DropFile> create(const std::string& directory);
    DropFile(DropFile&&) = default;
    ~DropFile(); // removed if not finished

    spool::Result<> write(std::string_view bytes);
    spool::Result<> finish();

private:
    DropFile() = default;
    common::Fd directory_, file_;
    std::string name_;
};

} // namespace sendmail
