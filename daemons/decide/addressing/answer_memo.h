// The answers that one expansion waited for, kept until it comes to its end: whatever caches forget meanwhile,
// each run of it sees what the run before saw, and one more thing. A value.
#pragma once
#include "daemons/decide/addressing/expansion_tables.h"
#include <map>
#include <variant>

namespace decide {

class Notebook {
public:
    // Asks the tables and notes the answer; false: it is not there yet.
    bool note(const Need& need, const ExpansionTables& tables);
    // The tables, but for what is noted here. Good as long as both.
    ExpansionTables before(const ExpansionTables& tables) const;

private:
    std::map<Need, std::variant<AliasAnswer, UserAnswer, TableAnswer>> noted_;
};

} // namespace decide
