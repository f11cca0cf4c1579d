// The file of tokens on disk, locked while it is changed and replaced as a whole. Must not know commands.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/tokens/token.h"
#include "libspool/disk/result.h"
#include <string>
#include <vector>

namespace postrider {

class StoredTokens {
public:
    // `directory`: of the file, made by master. Other commands that change it wait until this is destroyed.
    static spool::Result<StoredTokens> open(const std::string& directory);

    std::vector<tokens::Token> tokens;
    // Durable, and readable by the user of the directory, when it returns.
    spool::Result<> save() const;

private:
    StoredTokens(std::string directory, common::Fd lock) : directory_(std::move(directory)), lock_(std::move(lock)) {}
    std::string directory_;
    common::Fd lock_; // the directory
};

} // namespace postrider
