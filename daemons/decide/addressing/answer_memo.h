// The answers that one expansion waited for, kept until it comes to its end: whatever caches forget meanwhile,
// each run of it sees what the run before saw, and one more thing. A value.
#pragma once
#include "daemons/decide/addressing/expansion_tables.h"
#include <map>
#include <variant>

namespace decide {

class AnswerMemo {
public:
    // Asks the tables and notes the answer; false: it is not there yet.
    bool look_up(const LookupRequest& need, const ExpansionTables& tables);
    // The tables, but for what is noted here. Good as long as both.
    ExpansionTables layered_over(const ExpansionTables& tables) const;

private:
    std::map<LookupRequest, std::variant<AliasAnswer, UserAnswer, TableAnswer>> answers_;
};

} // namespace decide
