// Records in the spool which files have existed, so that even after a restart a file that has gone differs from one
// that never existed. A line for each path. Knows nothing about their content.
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
    // Paths that are not among them need not be remembered any longer.
    void forget_others(const std::vector<std::string>& paths);

private:
    void write();

    common::Log& log_;
    const std::string directory_;
    std::set<std::string> paths_;
};

} // namespace categorizer
