// The configured alias files as one table: searched in their order, kept up to date, and problems with them reported.
#pragma once
#include "daemons/categorizer/lookup/known_files.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/lookup/aliases/alias_file.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace categorizer {

class Aliases {
public:
    // `state`: the directory that records which files existed; `trouble`: a line for `status`, "" clears it.
    Aliases(common::Log& log, std::string state, std::function<void(std::string_view)> trouble);

    // `by_default`: files that are not configured explicitly: until they have existed once, they need not exist.
    void configure(const std::vector<std::string>& files, const std::vector<std::string>& by_default);
    // Reads what has changed. Cheap: checks a file at most once a second.
    void refresh(smtp::Now now);
    // `name` in lower case. Unreadable as soon as a file before the answer is.
    decide::AliasAnswer find(const std::string& name) const;

private:
    void log_table(const common::AliasFile& file) const;
    bool is_default(const std::string& path) const;

    common::Log& log_;
    KnownFiles known_files_; // of those by default
    std::function<void(std::string_view)> trouble_;
    std::vector<std::string> by_default_;
    std::vector<common::AliasFile> files_;
    std::map<std::string, std::string> owners_; // of the files, by path: the user's name
    smtp::Monotonic next_check_{};
};

} // namespace categorizer
