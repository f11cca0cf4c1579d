// Rules out lines of the journal by the bytes that a query needs, before they are decoded. Never rules out a match.
// Pure.
#pragma once
#include "daemons/common/history/history_query.h"
#include <string>
#include <string_view>
#include <vector>

namespace history {

class LineFilter {
public:
    explicit LineFilter(const HistoryQuery& query);

    // Of a block or a line of it, in lower case: may there be a match?
    bool may_match(std::string_view lower_case) const;

private:
    std::vector<std::vector<std::string>> needed_; // one of each list is in a line that matches
};

// Makes ASCII letters small, quickly: for whole blocks.
void make_lower(std::string_view text, std::string& into);

} // namespace history
