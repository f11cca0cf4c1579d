// Which events a hook gets: by the pattern of their names, and by the words that `postrider history` has. Pure.
#pragma once
#include "daemons/common/history/address_hash.h"
#include "daemons/common/history/history_query.h"
#include "libspool/journal/journal_line.h"
#include <string>
#include <vector>

namespace events {

class EventSelection {
public:
    // Checked by the configuration: patterns in lower case, words that are valid. `hash`: null if addresses are not
    // hashed.
    EventSelection(std::vector<std::string> patterns, const std::vector<std::string>& words,
                   const history::AddressHash* hash = nullptr);

    bool selects(const spool::JournalLine& line) const;

private:
    std::vector<std::string> patterns_;
    history::HistoryQuery query_;
};

} // namespace events
