// The answers that one expansion waited for, kept until it ends: even if caches drop entries meanwhile, each run sees
// what the previous run saw, and one more answer. A value.
#pragma once
#include "daemons/decide/rewriting/expansion_tables.h"
#include <map>
#include <variant>

namespace decide {

class AnswerMemo {
public:
    // Looks it up in the tables and keeps the answer; false if the answer is still pending.
    bool look_up(const LookupRequest& need, const ExpansionTables& tables);
    // The tables, with the answers kept here taking precedence. Valid as long as both live.
    ExpansionTables layered_over(const ExpansionTables& tables) const;

private:
    std::map<LookupRequest, std::variant<AliasAnswer, UserAnswer, TableAnswer>> answers_;
};

} // namespace decide
