// Which files were there once, in the spool: after a restart, too, one that has gone is not one that never was. A line
// for each path. Knows nothing of what is in them.
#pragma once
#include "daemons/common/logging/log.h"
#include <set>
#include <string>
#include <vector>

namespace categorizer {

class KnownFiles {
public:
    // `directory`: of the categorizer's own state; master has made it.
    KnownFiles(common::Log& log, std::string directory);

    bool has(const std::string& path) const { return paths_.contains(path); }
    void add(const std::string& path);
    // What is not among them need not be remembered any more.
    void forget_others(const std::vector<std::string>& paths);

private:
    void write();

    common::Log& log_;
    const std::string directory_;
    std::set<std::string> paths_;
};

} // namespace categorizer
